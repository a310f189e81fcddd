"""Find the loss to start with: list losses at their defaults, and normalizations of LambdaRank, on four data sets.

- `wards`: lists of 20 real patients, as in `ranking_methods.py`.
- `letor`: `rank.train` and `rank.test`, the sample that LightGBM ships, in the folder `--letor`.
- `equal` and `unequal`: simulated queries with 20 documents each, or with 2 to 120, most of them irrelevant.

The network, its optimizer and the number of epochs are those of `ranking_methods.py` for all losses. Each of `--seeds`
draws the split, or the simulated queries, and the first weights. The epoch with the best NDCG@5 on validation lists
counts, and the figure is the NDCG@5 of that epoch on test lists. LightGBM's LambdaMART stands beside the losses, with
its default settings and the number of trees chosen in the same way.

    python benchmarks/training/first_loss.py --letor data --json benchmarks/results/first_loss.json
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import harness
import numpy as np
import ranking_methods
import ranking_methods_data as data

import keras_softsort as ks

QUERIES, FEATURES = 300, 20
DATA = ("wards", "letor", "equal", "unequal")
TREES = "LightGBM LambdaMART"
DEFAULTS = [
    ks.ApproxMRRLoss,
    ks.ApproxNDCGLoss,
    ks.ApproxRankMSELoss,
    ks.CalibratedSoftmaxLoss,
    ks.GumbelApproxNDCGLoss,
    ks.ListNetLoss,
    ks.MeanSquaredLoss,
    ks.NeuralNDCGLoss,
    ks.NeuralSortCrossEntropyLoss,
    ks.PairwiseHingeLoss,
    ks.PairwiseMSELoss,
    ks.PairwiseSoftZeroOneLoss,
    ks.PlackettLuceLoss,
    ks.PLRankLoss,
    ks.RankNetLoss,
    ks.SigmoidCrossEntropyLoss,
    ks.SoftmaxLoss,
    ks.SpearmanLoss,
    ks.UniqueSoftmaxLoss,
    ks.YetiLogisticLoss,
]
LOSSES: dict[str, Callable[[], Any]] = {f"{cls.__name__}()": cls for cls in DEFAULTS}
for _normalization in ("pairs", "list", "none"):
    _options = {"lambda_weight": "ndcg", "normalization": _normalization}
    LOSSES[f'RankNetLoss(lambda_weight="ndcg", normalization="{_normalization}")'] = functools.partial(
        ks.RankNetLoss, **_options
    )


def simulated(seed: int, smallest: int, largest: int) -> data.Split:
    """Queries whose sizes are uniform in their logarithm. Half of the documents have the label 0, few the label 4."""
    random = np.random.default_rng(seed)
    linear, squares = random.normal(size=(2, FEATURES))
    parts = []
    for count in (QUERIES, QUERIES // 3, QUERIES):
        sizes = np.exp(random.uniform(np.log(smallest), np.log(largest + 1), count)).astype(int)
        features = random.normal(size=(sizes.sum(), FEATURES)).astype("float32")
        utility = features @ linear + np.abs(features) @ squares + 2 * random.normal(size=len(features))
        grades = np.searchsorted(np.quantile(utility, [0.5, 0.75, 0.9, 0.97]), utility)
        parts.append(data.Lists.of(features, grades, sizes))
    return data.Split(*parts)


def splits(letor: Path | None) -> dict[str, Callable[[int], data.Split]]:
    """The data sets, each a function of a seed."""
    found = {
        "wards": data.wards,
        "equal": lambda seed: simulated(seed, 20, 20),
        "unequal": lambda seed: simulated(seed, 2, 120),
    }
    return found if letor is None else {**found, "letor": lambda seed: data.letor(letor, seed)}


def of_loss(make: Callable[[], Any], split: Callable[[int], data.Split], options: argparse.Namespace) -> list[float]:
    """The NDCG@5 on test lists for each seed."""
    found, trainer = [], None
    for seed in range(options.seeds):
        train, valid, test = data.encoded(split(seed), "standardized")
        trainer = trainer or ranking_methods.Trainer(ranking_methods.Method(""), train.features.shape[2], make)
        best, reached = -1.0, 0.0
        for _ in trainer.fit(train, options.epochs, seed):
            now = float(data.ndcg(valid, trainer.scores(valid), 5).mean())
            if now > best:
                best, reached = now, float(data.ndcg(test, trainer.scores(test), 5).mean())
        found.append(reached)
    return found


def of_trees(split: Callable[[int], data.Split], options: argparse.Namespace) -> list[float]:
    """NDCG@5 of LambdaMART for each seed."""
    return [ranking_methods.run_trees(split(seed), seed, 1)["NDCG@5"] for seed in range(options.seeds)]


def rows(options: argparse.Namespace) -> Iterator[harness.Row]:
    """Means over seeds, with their standard deviation."""
    known = splits(options.letor)
    for name in [*options.losses, TREES]:
        row: harness.Row = {"loss": f"`{name}`" if name in LOSSES else name}
        for title in options.data:
            if title in known:
                split = known[title]
                found = of_trees(split, options) if name == TREES else of_loss(LOSSES[name], split, options)
                row[title] = f"{np.mean(found):.3f} ({np.std(found):.3f})"
        yield row


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """Run the comparison."""
    parser = harness.new_parser(__doc__)
    add = parser.add_argument
    add("--letor", type=Path, help="folder with rank.train, rank.test and their .query files")
    add("--seeds", type=int, default=5, help="trainings of each loss on each data set")
    add("--epochs", type=int, default=20, help="of each training")
    add("--losses", nargs="+", choices=LOSSES, default=list(LOSSES), help="which losses", metavar="LOSS")
    add("--data", nargs="+", choices=DATA, default=DATA, help="which data sets")
    options = parser.parse_args(arguments)
    return harness.publish("first_loss", {"NDCG@5": rows(options)}, options.json)


if __name__ == "__main__":
    main()
