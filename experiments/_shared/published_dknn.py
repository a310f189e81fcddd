"""The accuracies of a published run of DkNN on CIFAR-10, and the picture of others beside them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "benchmarks" / "tools"))

import harness

# Accuracies on 5,000 validation images after each epoch.
PUBLISHED = {
    "dknn": (
        *(0.4220, 0.5036, 0.5640, 0.6206, 0.6490, 0.6832, 0.7080, 0.7138, 0.7402, 0.7620),
        *(0.7696, 0.7824, 0.7866, 0.8022, 0.8198, 0.8196, 0.8384, 0.8338, 0.8396, 0.8492),
        *(0.8534, 0.8502, 0.8552, 0.8520, 0.8530, 0.8632, 0.8738, 0.8688, 0.8758, 0.8682),
    ),
    "cross_entropy": (
        *(0.4774, 0.5796, 0.6126, 0.6956, 0.7190, 0.7298, 0.7648, 0.7790, 0.7968, 0.8160),
        *(0.8126, 0.8112, 0.8262, 0.8316, 0.8324, 0.8286, 0.8532, 0.8564, 0.8478, 0.8546),
        *(0.8508, 0.8524, 0.8676, 0.8724, 0.8466, 0.8752, 0.8670, 0.8632, 0.8648, 0.8718),
    ),
}
TITLES = {"dknn": "DkNN", "cross_entropy": "cross-entropy"}


def row(method: str, seed: int, epoch: int, accuracy: float, seconds: float) -> harness.Row:
    """The row of an epoch, counted from 1."""
    result = {"accuracy": f"{accuracy:.4f}", "minutes": round(seconds / 60, 2)}
    return {"method": TITLES[method], "seed": seed, "epoch": epoch, **result}


def curves(rows: Sequence[harness.Row]) -> dict[str, dict[int, list[float]]]:
    """The accuracies over the epochs, by the title of the method and by seed."""
    found: dict[str, dict[int, list[float]]] = {title: {} for title in TITLES.values()}
    for each in rows:
        found[each["method"]].setdefault(each["seed"], []).append(float(each["accuracy"]))
    return found


def beside(rows: Sequence[harness.Row]) -> Iterator[harness.Row]:
    """A row of each epoch, with the accuracies of all seeds beside those of the published run."""
    found = curves(rows)
    for epoch in range(len(PUBLISHED["dknn"])):
        line: harness.Row = {"epoch": epoch + 1}
        for method, title in TITLES.items():
            for seed, values in found[title].items():
                line[f"{title}, seed {seed}"] = f"{values[epoch]:.4f}" if epoch < len(values) else ""
            line[f"{title}, published"] = f"{PUBLISHED[method][epoch]:.4f}"
        yield line


def draw(rows: Sequence[harness.Row], path: Path) -> None:
    """Accuracies over the epochs, a line of each seed, with the published ones dashed."""
    import matplotlib.pyplot as plt  # noqa: PLC0415

    found = curves(rows)
    figure, axis = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
    for (method, published), color in zip(PUBLISHED.items(), ("#1F6F6B", "#C98A1B"), strict=True):
        epochs = range(1, len(published) + 1)
        axis.plot(epochs, published, color=color, lw=1.4, ls="--", label=f"{TITLES[method]}, published")
        for i, values in enumerate(found[TITLES[method]].values()):
            axis.plot(
                epochs[: len(values)], values, color=color, lw=1.4, label=None if i else f"{TITLES[method]}, here"
            )
    axis.set(xlabel="epoch", ylabel="accuracy on 5,000 validation images", xlim=(0.5, None))
    axis.legend(frameon=False, loc="lower right")
    harness.save_picture(figure, path)
