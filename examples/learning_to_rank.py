"""Learn to rank from graded judgments, by losses of this package and by LightGBM's LambdaMART.

By default the lists are wards of real patients, to be ranked by the progression of their disease
(`_shared/ranking_data.py`); `--split` chooses other patients for training. `--train` and `--test` take any SVMlight or
LETOR files instead, such as a fold of MSLR-WEB30K. A network with two hidden layers scores each document by itself.
With `--scorer attention` it also sees the other documents of the list, `gam` adds up functions of single features, and
`linear` weights them. `--losses` chooses the losses, of which there are nine.

The report has means over test queries of NDCG@k (gain 2^label - 1, discount log2) and of MRR (relevant from label 1
on). Queries without a relevant document are left out. Nothing is selected on test queries: figures are those after the
epoch, or with the number of trees, that has the best NDCG@5 on validation queries. These are wards of other patients,
or the queries of `--valid`; files without `--valid` are used for all epochs. Small networks overfit a few hundred
patients soon, and one split says little: benchmarks/results/learning_to_rank.md compares over ten.

    python examples/learning_to_rank.py                                   # five losses, a minute
    python examples/learning_to_rank.py --losses all --seeds 0 1 2        # nine losses, some minutes
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
DEFAULT = ["LambdaRank", "Softmax", "ListMLE", "ApproxNDCG", "NeuralNDCG"]
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
    names = ", ".join(LOSSES)
    add("--losses", nargs="+", choices=["all", *LOSSES], default=DEFAULT, metavar="LOSS", help=f"all, or of: {names}")
    add("--seeds", type=int, nargs="+", default=[0], help="one training of each loss per seed")
    add("--epochs", type=at_least(1), default=20, help="of each training")
    add("--batch-size", type=at_least(1), default=16, help="queries per step")
    add("--learning-rate", type=command_line.positive, default=1e-3, help="of Adam")
    add("--dropout", type=command_line.fraction, default=0.2, help="share of the inputs of each layer dropped")
    options = command_line.parse(parser, arguments, quick)
    options.losses = LOSSES if "all" in options.losses else options.losses
    if options.valid and not options.train:
        parser.error("--valid must be given with --train and --test")
    command_line.check_files(parser, options)
    return options


if __name__ == "__main__":
    OPTIONS = parse()  # a wrong argument fails here, before the seconds that TensorFlow takes to import
    command_line.import_tensorflow()

import numpy as np
import tensorflow as tf
from _shared.pictures.ranking import draw_ranking
from _shared.ranking_data import from_files, patients
from _shared.ranking_measures import BASELINE, lambda_mart, measures, new_metrics
from tensorflow import keras

import keras_softsort as ks
from keras_softsort.data import RankingDataset

MAKE_LOSS = {
    "RankNet": ks.RankNetLoss,
    "LambdaRank": lambda: ks.RankNetLoss(lambda_weight="ndcg"),
    "Softmax": ks.SoftmaxLoss,
    "ListMLE": ks.PlackettLuceLoss,
    "NeuralNDCG": lambda: ks.NeuralNDCGLoss(tau=1.0),
    "ApproxNDCG": lambda: ks.ApproxNDCGLoss(tau=0.1),
    "PL-Rank": ks.PLRankLoss,
    "Hinge": ks.PairwiseHingeLoss,
    "MSE of pairs": ks.PairwiseMSELoss,
}


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


def train(name: str, seed: int, data: list[RankingDataset], options: argparse.Namespace) -> dict[str, float]:
    """Train a model with one loss and one seed; the measures on test queries."""
    keras.utils.set_random_seed(seed)
    training, *validation, test = data
    model = scorer(options.scorer, training.features.shape[1], options.dropout)
    model.compile(keras.optimizers.Adam(options.learning_rate), loss=MAKE_LOSS[name](), metrics=new_metrics())
    batches = ks.data.bucketed_batches(training, options.batch_size, seed=seed, mask=True)
    settings: dict = {"epochs": options.epochs, "shuffle": False, "verbose": 0}
    for queries in validation:
        # No stop, but the weights of the best epoch.
        best = keras.callbacks.EarlyStopping(
            "val_NDCG@5", mode="max", patience=options.epochs, restore_best_weights=True
        )
        settings.update(validation_data=in_order(queries), callbacks=[best])
    model.fit(batches, **settings)
    found = model.evaluate(in_order(test), verbose=0, return_dict=True)
    return {name: value for name, value in found.items() if name != "loss"}


def in_order(queries: RankingDataset) -> tf.data.Dataset:
    """Batches to measure."""
    return ks.data.bucketed_batches(queries, 64, shuffle=False, mask=True)


def compare(data: list[RankingDataset], options: argparse.Namespace) -> dict[str, list[dict[str, float]]]:
    """The measures of each method for every seed, and of random orders."""
    started = time.monotonic()
    test, random = data[-1], np.random.default_rng(0)
    guesses = (random.random(len(test.labels)) for _ in range(20))
    results = {"random order": [measures(test, scores) for scores in guesses]}
    for name in options.losses:
        results[name] = []
        for seed in options.seeds:
            results[name].append(train(name, seed, data, options))
            seconds = time.monotonic() - started
            print(f"{name:12} seed {seed}: NDCG@5 {results[name][-1]['NDCG@5']:.4f} ({seconds:.0f} s)", flush=True)
    if importlib.util.find_spec("lightgbm"):
        results[BASELINE] = [lambda_mart(seed, data) for seed in options.seeds]
    return results


def report(results: dict[str, list[dict[str, float]]]) -> None:
    """Print a line for each method: means over seeds, and the range of NDCG@5."""
    columns = results["random order"][0]
    print(f"\n{'mean over seeds':22}{''.join(f'{name:>10}' for name in columns)}   (range of NDCG@5)")
    for name, runs in results.items():
        means = "".join(f"{np.mean([run[key] for run in runs]):10.4f}" for key in columns)
        fives = [run["NDCG@5"] for run in runs]
        print(f"{name:22}{means}   ({min(fives):.4f} to {max(fives):.4f})")
    if BASELINE not in results:
        print(f'{BASELINE:22}   not installed: pip install ".[examples]"')


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
