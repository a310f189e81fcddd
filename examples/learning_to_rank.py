"""Learn to rank from graded judgements: one small scorer, one budget, nine losses.

By default every document is scored by itself, by a network with two hidden layers. `--scorer attention` shows it the
other documents of its list, `--scorer gam` adds up functions of single features, and `--scorer linear` weighs them.
By default wards of real patients are put in the order of their disease's progression (see `_shared/ranking_data.py`);
`--split` draws other patients for training. `--train` and `--test` take any SVMlight/LETOR files instead, such as a
fold of MSLR-WEB30K.

If LightGBM is installed, its LambdaMART is trained too. The report has means over test queries of NDCG@k (gain
2^label - 1, discount log2) and MRR (relevant from label 1 on). Queries without any relevant document are left out, and
their number is printed. Nothing is selected on the test queries: figures are those after the epoch (of LambdaMART:
with the number of trees) of the best NDCG@5 on validation queries, which are wards of other patients, or the queries of
`--valid`. Without `--valid`, files are trained on for all epochs. Small networks overfit a few hundred patients within
few epochs: what many splits say is in benchmarks/results/learning_to_rank.md.

    python examples/learning_to_rank.py                                   # one seed, two minutes
    python examples/learning_to_rank.py --scorer attention --split 1
    python examples/learning_to_rank.py --train train.txt --valid vali.txt --test test.txt --seeds 0 1 2
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from pathlib import Path

from _shared import command_line

LOSSES = ["RankNet", "LambdaRank", "Softmax", "ListMLE", "NeuralNDCG", "ApproxNDCG", "PL-Rank", "Hinge", "MSE of pairs"]
SCORERS = ("dnn", "attention", "gam", "linear")


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Options of the command line."""
    quick = {"epochs": 1, "wards": 20, "losses": ["RankNet", "ListMLE", "NeuralNDCG"]}
    parser = command_line.new_parser(__doc__, "learning_to_rank", quick)
    add, at_least = parser.add_argument, command_line.at_least
    add("--train", type=Path, help="SVMlight file (with --test); a file .query beside it has the list sizes")
    add("--valid", type=Path, help="SVMlight file that chooses the epoch; without it the last epoch counts")
    add("--test", type=Path, help="SVMlight file (with --train)")
    add("--wards", type=at_least(1), default=300, help="lists of patients for training, and as many for testing")
    add("--split", type=int, default=0, help="seed that draws the patients for training, validation and testing")
    add("--scorer", choices=SCORERS, default="dnn", help="how documents are scored")
    add("--losses", nargs="+", choices=LOSSES, default=list(LOSSES), metavar="LOSS", help="losses to train with")
    add("--seeds", type=int, nargs="+", default=[0], help="one training of each loss per seed")
    add("--epochs", type=at_least(1), default=20, help="of each training")
    add("--batch-size", type=at_least(1), default=16, help="queries per step")
    add("--learning-rate", type=command_line.positive, default=1e-3, help="of Adam")
    add("--dropout", type=command_line.fraction, default=0.2, help="share of the inputs of each layer dropped")
    options = command_line.parse(parser, arguments, quick)
    if (options.train is None) != (options.test is None):
        parser.error("--train and --test must be given together")
    if options.valid and not options.train:
        parser.error("--valid must be given with --train and --test")
    for path in filter(None, (options.train, options.valid, options.test)):
        if not path.is_file():
            parser.error(f"{path} is not a file")
    return options


if __name__ == "__main__":
    OPTIONS = parse()  # a wrong argument fails here, before the seconds that TensorFlow takes to import
    command_line.import_tensorflow()

import numpy as np
from _shared.pictures.ranking import draw_ranking
from _shared.ranking_data import from_files, patients
from tensorflow import keras

import keras_softsort as ks
from keras_softsort.data import RankingDataset

MAKE_LOSS = {
    "RankNet": ks.RankNetLoss,
    "LambdaRank": lambda: ks.RankNetLoss(lambda_weight="ndcg", normalization="none"),
    "Softmax": ks.SoftmaxLoss,
    "ListMLE": ks.PlackettLuceLoss,
    "NeuralNDCG": lambda: ks.NeuralNDCGLoss(tau=1.0),
    "ApproxNDCG": lambda: ks.ApproxNDCGLoss(tau=0.1),
    "PL-Rank": ks.PLRankLoss,
    "Hinge": ks.PairwiseHingeLoss,
    "MSE of pairs": ks.PairwiseMSELoss,
}
CUTOFFS = (1, 3, 5, 10)


def ndcg(labels: np.ndarray, order: np.ndarray, k: int) -> float:
    """NDCG@k of a list with at least one relevant document."""
    discounts = 1 / np.log2(np.arange(min(k, len(labels))) + 2)
    gains = 2.0**labels - 1
    return float(gains[order[:k]] @ discounts / (np.sort(gains)[::-1][:k] @ discounts))


def measures(queries: RankingDataset, scores: list[np.ndarray]) -> dict[str, float]:
    """Means over the queries that have a relevant document; equal scores stay in the order of the file."""
    found = []
    for (_, labels), one in zip(queries, scores, strict=True):
        if labels.max() > 0:
            order = np.argsort(-one, kind="stable")
            first = np.argmax(labels[order] > 0) + 1
            found.append([*(ndcg(labels, order, k) for k in CUTOFFS), 1 / first])
    names = [*(f"NDCG@{k}" for k in CUTOFFS), "MRR"]
    return dict(zip(names, np.mean(found, axis=0).tolist(), strict=True))


def scorer(kind: str, features: int, dropout: float) -> keras.Model:
    """Documents `[query, n, features]` and their mask to scores `[query, n]`."""
    if kind == "gam":
        return ks.models.gam_scorer(features, dropout=dropout, mask_name="mask")
    attention = None
    if kind == "attention":
        attention = ks.DocumentInteractionAttention(num_heads=2, head_size=16, dropout=dropout)
    return ks.models.dnn_scorer(
        features,
        hidden_units=() if kind == "linear" else (64, 32),
        dropout=dropout,
        attention=attention,
        mask_name="mask",
    )


def scores_of(model: keras.Model, queries: RankingDataset, at_once: int = 64) -> list[np.ndarray]:
    """The scores of each query's documents."""
    found = []
    for start in range(0, len(queries), at_once):
        lists = queries[start : start + at_once]
        mask = np.arange(lists.sizes.max()) < lists.sizes[:, np.newaxis]
        features = np.zeros([*mask.shape, lists.features.shape[1]], np.float32)
        features[mask] = lists.features
        scores = model.predict_on_batch({"features": features, "mask": mask})
        found += [row[:size] for row, size in zip(scores, lists.sizes, strict=True)]
    return found


class BestEpoch(keras.callbacks.Callback):
    """Ends with the weights after the epoch of the best NDCG@5 on validation queries."""

    def __init__(self, queries: RankingDataset) -> None:
        super().__init__()
        self.queries, self.best, self.weights = queries, -1.0, []

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        """Keep the best so far."""
        found = measures(self.queries, scores_of(self.model, self.queries))["NDCG@5"]
        if found > self.best:
            self.best, self.weights = found, self.model.get_weights()

    def on_train_end(self, logs: dict | None = None) -> None:
        """Take it."""
        self.model.set_weights(self.weights)


def train(name: str, seed: int, data: list[RankingDataset], options: argparse.Namespace) -> dict[str, float]:
    """One loss, one seed."""
    keras.utils.set_random_seed(seed)
    training, *validation, test = data
    model = scorer(options.scorer, training.features.shape[1], options.dropout)
    model.compile(keras.optimizers.Adam(options.learning_rate), loss=MAKE_LOSS[name]())
    batches = ks.data.bucketed_batches(training, options.batch_size, seed=seed, mask=True)
    selection = [BestEpoch(queries) for queries in validation]
    model.fit(batches, epochs=options.epochs, shuffle=False, verbose=0, callbacks=selection)
    return measures(test, scores_of(model, test))


def lambda_mart(seed: int, data: list[RankingDataset]) -> dict[str, float]:
    """LightGBM's LambdaMART with its own defaults."""
    import lightgbm  # noqa: PLC0415  (an optional peer)

    *known, test = data
    sets = [lightgbm.Dataset(part.features, part.labels, group=part.sizes) for part in known]
    options = {"objective": "lambdarank", "bagging_fraction": 0.9, "bagging_freq": 1, "eval_at": [5], "verbose": -1}
    stop = [lightgbm.early_stopping(100, verbose=False)] if sets[1:] else []
    booster = lightgbm.train({**options, "seed": seed}, sets[0], 100, valid_sets=sets[1:], callbacks=stop)
    return measures(test, np.split(booster.predict(test.features), test.starts[1:]))


def compare(data: list[RankingDataset], options: argparse.Namespace) -> dict[str, list[dict[str, float]]]:
    """The measures of each method for every seed, and of random orders."""
    started = time.monotonic()
    test, random = data[-1], np.random.default_rng(0)
    guesses = ([random.random(len(labels)) for _, labels in test] for _ in range(20))
    results = {"random order": [measures(test, scores) for scores in guesses]}
    for name in options.losses:
        results[name] = []
        for seed in options.seeds:
            results[name].append(train(name, seed, data, options))
            seconds = time.monotonic() - started
            print(f"{name:12} seed {seed}: NDCG@5 {results[name][-1]['NDCG@5']:.4f} ({seconds:.0f} s)", flush=True)
    if importlib.util.find_spec("lightgbm"):
        results["LightGBM LambdaMART"] = [lambda_mart(seed, data) for seed in options.seeds]
    return results


def report(results: dict[str, list[dict[str, float]]]) -> None:
    """Print a line for each method: means over seeds, and the range of NDCG@5."""
    columns = results["random order"][0]
    print(f"\n{'mean over seeds':22}{''.join(f'{name:>10}' for name in columns)}   (range of NDCG@5)")
    for name, runs in results.items():
        means = "".join(f"{np.mean([run[key] for run in runs]):10.4f}" for key in columns)
        fives = [run["NDCG@5"] for run in runs]
        print(f"{name:22}{means}   ({min(fives):.4f} to {max(fives):.4f})")
    if "LightGBM LambdaMART" not in results:
        print(f'{"LightGBM LambdaMART":22}   not installed: pip install ".[examples]"')


def main(options: argparse.Namespace) -> dict:
    """Train with every loss and seed beside the baselines; print, draw, save."""
    started = time.monotonic()
    print("Learning to rank with", ", ".join(options.losses))
    files = [path for path in (options.train, options.valid, options.test) if path]
    data = from_files(files) if files else patients(options.wards, seed=options.split, validation=True)
    relevant = sum(labels.max() > 0 for _, labels in data[-1])
    print(f"{len(data[0])} queries for training, {len(data[-1])} for testing, {relevant} with a relevant document")
    results = compare(data, options)
    report(results)
    picture = draw_ranking(results, options.output / "learning_to_rank.png")
    print(f"\nPicture: {picture}; {time.monotonic() - started:.0f} s in all")
    return command_line.save_report(options, "learning_to_rank", results=results)


if __name__ == "__main__":
    main(OPTIONS)
