"""Train LightGBM's trees with ranking losses: rank patients by how far their disease will have progressed in a year.

The data are 442 diabetes patients of scikit-learn with ten measurements each. A list is a ward of 20 patients, drawn at
random. The label is the fifth of all patients by progression, 0 to 4. Each split draws other patients for
training, validation and testing. LightGBM's own `lambdarank` and `regression` stand beside the losses. The figures are
those of the wards for testing, after the round that is best on those for validation.

    python examples/ranking_trees.py           # a minute on two CPU cores; downloads nothing
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # before TensorFlow is imported

import lightgbm
import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_diabetes

import keras_softsort as ks
from keras_softsort.data import RankingDataset

mpl.use("Agg")
from matplotlib import pyplot as plt

OBJECTIVES: dict[str, Any] = {
    "RankNetLoss": ks.trees.objective(ks.RankNetLoss()),
    "PairwiseMSELoss": ks.trees.objective(ks.PairwiseMSELoss()),
    "LightGBM lambdarank": "lambdarank",
    "LightGBM regression": "regression",
}
METRICS = {"ndcg@5": ks.trees.metric("ndcg", 5), "spearman": ks.trees.metric("spearman")}
COLORS = ("#2a9d8f", "#4361a8", "#d1495b", "#8d99ae")


def wards(split: int, count: int) -> list[RankingDataset]:
    """`count` wards each for training, validation and testing; no patient is in two of these parts."""
    measurements, progression = load_diabetes(return_X_y=True)
    labels = np.searchsorted(np.quantile(progression, [0.2, 0.4, 0.6, 0.8]), progression)
    random = np.random.default_rng(split)
    parts = np.split(random.permutation(len(labels)), [len(labels) // 2, 2 * len(labels) // 3])
    rows = [np.concatenate([random.choice(part, 20, replace=False) for _ in range(count)]) for part in parts]
    return [RankingDataset(measurements[each], labels[each], np.full(count, 20)) for each in rows]


def train(objective: Any, parts: list[RankingDataset], rounds: int) -> dict[str, dict[str, list[float]]]:
    """Each metric after each round, on the wards for validation and for testing."""
    known, *others = (lightgbm.Dataset(part.features, part.labels, group=part.sizes) for part in parts)
    params = {"objective": objective, "metric": "none", "num_leaves": 15, "verbose": -1, "num_threads": 1}
    found: dict[str, dict[str, list[float]]] = {}
    lightgbm.train(
        params,
        known,
        rounds,
        valid_sets=others,
        valid_names=["validation", "test"],
        feval=list(METRICS.values()),
        callbacks=[lightgbm.record_evaluation(found)],
    )
    return found


def chosen(run: dict[str, dict[str, list[float]]]) -> dict[str, float]:
    """Each metric on the wards for testing, after the round that is best on those for validation."""
    return {name: run["test"][name][int(np.argmax(run["validation"][name]))] for name in METRICS}


def draw(runs: dict[str, list], path: Path) -> None:
    """Each metric on the wards for validation, round by round; means over splits, a dot at the best round."""
    figure, axes = plt.subplots(1, 2, figsize=(12, 4.6), layout="constrained")
    for axis, name in zip(axes, METRICS, strict=True):
        ends = []
        for (method, each), color in zip(runs.items(), COLORS, strict=True):
            curve = np.mean([run["validation"][name] for run in each], axis=0)
            best = int(curve.argmax())
            axis.plot(np.arange(1, len(curve) + 1), curve, color=color, linewidth=2.5, label=method)
            axis.plot(best + 1, curve[best], "o", color=color, markersize=9)
            ends.append(curve)
        axis.set_ylim(np.quantile(ends, 0.03), None)
        axis.set_title({"ndcg@5": "NDCG@5", "spearman": "Spearman's rank correlation"}[name], fontsize=14, loc="left")
        axis.set_xlabel("trees", fontsize=13)
        axis.tick_params(labelsize=12)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False, fontsize=13)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main(
    splits: int = 3, rounds: int = 60, count: int = 300, output: Path = Path("output/ranking_trees")
) -> dict[str, list[dict[str, float]]]:
    """Train each objective on each split, print, draw."""
    runs: dict[str, list] = {name: [] for name in OBJECTIVES}
    for split in range(splits):
        parts = wards(split, count)
        for name, objective in OBJECTIVES.items():
            runs[name].append(train(objective, parts, rounds))
        latest = ", ".join(f"{name} {chosen(each[-1])['spearman']:.3f}" for name, each in runs.items())
        print(f"split {split + 1} of {splits}, Spearman on unseen patients: {latest}", flush=True)
    results = {name: [chosen(run) for run in each] for name, each in runs.items()}
    print(f"\n{'on unseen patients':24}" + "".join(f"{name:>12}{'spread':>9}" for name in METRICS))
    for method, found in results.items():
        columns = [[one[name] for one in found] for name in METRICS]
        print(f"{method:24}" + "".join(f"{np.mean(each):12.3f}{np.std(each):9.3f}" for each in columns))
    output.mkdir(parents=True, exist_ok=True)
    draw(runs, output / "ranking_trees.png")
    print(f"Picture: {output / 'ranking_trees.png'}")
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=3, help="random splits of the patients (default: 3)")
    parser.add_argument("--rounds", type=int, default=60, help="trees of each training (default: 60)")
    parser.add_argument("--count", type=int, default=300, help="wards in each part (default: 300)")
    parser.add_argument("--output", type=Path, default=Path("output/ranking_trees"), help="folder for the picture")
    main(**vars(parser.parse_args()))
