"""The losses of TF-Ranking, Keras-RS and Rax beside ours: time and memory of a loss and its gradient.

Each library is measured where it is installed, in turns with ours in one process: TF-Ranking in a plain graph of
TensorFlow 2.15, Keras-RS in a plain graph and by XLA, Rax by `jax.jit` beside ours by XLA. If both have one formula,
their gradients are compared first, each divided by its largest number. Memory is what a process of its own grew by.
Scores are standard normal; labels are 0 to 4, or 0 and 1 for losses of clicks. Rows of the same commit in `--json` are
not run again, so that a run may be stopped by `--seconds` and continued, and the runs of several environments meet in
one file.

    python benchmarks/operators/ranking_losses.py --json benchmarks/results/ranking_losses.json
"""

from __future__ import annotations

import importlib.util
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import harness
import numpy as np
from steps import gradient_step, runner

import keras_softsort as ks

PACKAGES = {"TF-Ranking": "tensorflow_ranking", "Keras-RS": "keras_rs", "Rax": "rax"}
MODES = {"TF-Ranking": ("graph",), "Keras-RS": ("graph", "XLA"), "Rax": ("XLA",)}
Run = Callable[[], list[np.ndarray]]
Rows = list[dict[str, Any]]


class Case(NamedTuple):
    """A loss of ours, and the names of those of the libraries."""

    ours: Callable[[], Any]
    tf_ranking: str = ""
    keras_rs: str = ""
    rax: str = ""
    options: dict[str, Any] = {}  # of TF-Ranking's  # noqa: RUF012
    logits: int = 0  # per item; 0 for scores
    same: bool = True  # as ours but for a factor

    def name_in(self, library: str) -> str:
        """The name of the loss there; empty if there is none."""
        return {"TF-Ranking": self.tf_ranking, "Keras-RS": self.keras_rs, "Rax": self.rax}[library]


def by_pair(cls: Callable, **options: Any) -> Callable[[], Any]:
    """A loss that is a sum, as those of the libraries but for a factor."""
    return lambda: cls(normalization="none", **options)


NOISY = {"same": False}
CASES = {
    "hinge of pairs": Case(by_pair(ks.PairwiseHingeLoss), *2 * ("PairwiseHingeLoss",), "pairwise_hinge_loss"),
    "logistic of pairs": Case(by_pair(ks.RankNetLoss), *2 * ("PairwiseLogisticLoss",), "pairwise_logistic_loss"),
    "logistic of pairs, NDCG": Case(
        by_pair(ks.RankNetLoss, lambda_weight="ndcg"), "PairwiseLogisticLoss", options={"lambda_weight": 1.0}
    ),
    "soft zero-one of pairs": Case(by_pair(ks.PairwiseSoftZeroOneLoss), *2 * ("PairwiseSoftZeroOneLoss",)),
    "squared of pairs": Case(
        by_pair(ks.PairwiseMSELoss), "PairwiseMSELoss", "PairwiseMeanSquaredError", "pairwise_mse_loss"
    ),
    "Yeti": Case(ks.YetiLogisticLoss, "YetiLogisticLoss", **NOISY),
    "softmax": Case(ks.SoftmaxLoss, "SoftmaxLoss", rax="softmax_loss"),
    "calibrated softmax": Case(ks.CalibratedSoftmaxLoss, "CalibratedSoftmaxLoss"),
    "unique softmax": Case(ks.UniqueSoftmaxLoss, "UniqueSoftmaxLoss", rax="unique_softmax_loss"),
    "ListMLE": Case(  # each library has its own rule of ties
        lambda: ks.PlackettLuceLoss(ties="first"), *2 * ("ListMLELoss",), "listmle_loss", same=False
    ),
    "ApproxNDCG": Case(ks.ApproxNDCGLoss, "ApproxNDCGLoss"),
    "ApproxMRR": Case(ks.ApproxMRRLoss, "ApproxMRRLoss"),
    "Gumbel ApproxNDCG": Case(ks.GumbelApproxNDCGLoss, "GumbelApproxNDCGLoss", **NOISY),
    "coupled RankDistil": Case(
        lambda: ks.CoupledRankDistilLoss(k=10), "CoupledRankDistilLoss", options={"topk": 10}, **NOISY
    ),
    "sigmoid cross-entropy": Case(
        by_pair(ks.SigmoidCrossEntropyLoss), "SigmoidCrossEntropyLoss", rax="pointwise_sigmoid_loss"
    ),
    "mean squared": Case(by_pair(ks.MeanSquaredLoss), "MeanSquaredLoss", rax="pointwise_mse_loss"),
    "ordinal": Case(by_pair(ks.OrdinalLoss), "OrdinalLoss", options={"ordinal_size": 4}, logits=4),
    "click EM": Case(by_pair(ks.ClickEMLoss), "ClickEMLoss", logits=2),
    "mixture EM": Case(ks.MixtureEMLoss, "MixtureEMLoss", logits=2),
}


OF_ITEMS = ("SigmoidCrossEntropyLoss", "MeanSquaredLoss", "OrdinalLoss", "ClickEMLoss", "MixtureEMLoss")
# Memory is measured of the others.
WITH_MEMORY = [name for name in CASES if CASES[name].tf_ranking not in OF_ITEMS]
OF_CLICKS = ("ClickEMLoss", "MixtureEMLoss", "SigmoidCrossEntropyLoss")


def data(case: Case, lists: str) -> tuple[np.ndarray, np.ndarray]:
    """Scores or logits, and labels."""
    shape = [int(size) for size in lists.split("x")]
    random = np.random.default_rng(0)
    labels = random.integers(0, 5, shape)
    scores = random.normal(size=[*shape, case.logits] if case.logits else shape)
    return scores.astype("f"), (labels % 2 if case.tf_ranking in OF_CLICKS else labels).astype("f")


def our_run(name: str, lists: str, mode: str) -> Run:
    case = CASES[name]
    loss = case.ours()
    return runner(gradient_step(lambda scores, labels: loss(labels, scores), mode == "XLA"), *data(case, lists))


def their_run(name: str, library: str, lists: str, mode: str) -> Run:
    case = CASES[name]
    found = importlib.import_module(PACKAGES[library])
    if library == "Rax":
        return rax_run(getattr(found, case.rax), *data(case, lists))
    module = found.losses if library == "Keras-RS" else found.keras.losses
    options = dict(case.options) if library == "TF-Ranking" else {}
    if "lambda_weight" in options:
        options["lambda_weight"] = module.NDCGLambdaWeight(smooth_fraction=options["lambda_weight"])
    loss = getattr(module, case.name_in(library))(**options)
    return runner(gradient_step(lambda scores, labels: loss(labels, scores), mode == "XLA"), *data(case, lists))


def rax_run(loss: Callable, scores: np.ndarray, labels: np.ndarray) -> Run:
    import jax  # noqa: PLC0415

    step = jax.jit(jax.value_and_grad(loss))
    arrays = [jax.numpy.asarray(each) for each in (scores, labels)]
    return lambda: [np.asarray(each) for each in step(*arrays)]


def scaled_gradient(run: Run) -> list[np.ndarray]:
    gradient = run()[1]
    return [gradient / np.abs(gradient).max()]


def times(name: str, library: str, lists: str, mode: str, repeats: int) -> dict[str, float]:
    """Milliseconds of ours and theirs."""
    runs = [our_run(name, lists, mode), their_run(name, library, lists, mode)]
    if CASES[name].same:
        ours, theirs = runs
        harness.check_agreement(
            {"ours": lambda: scaled_gradient(ours), library: lambda: scaled_gradient(theirs)}, [2e-3]
        )
    spent = harness.alternating_medians(runs, repeats, seconds=1, least=3, warmup=1)
    return {"ours": 1e3 * spent[0], "theirs": 1e3 * spent[1]}


def memory_runs(whose: str, name: str, library: str, lists: str, mode: str) -> tuple[Run, Run]:
    """On short lists, and on `lists`. TF-Ranking's coupled RankDistil needs at least 10 items."""
    if whose == "ours":
        return our_run(name, "2x10", mode), our_run(name, lists, mode)
    return their_run(name, library, "2x10", mode), their_run(name, library, lists, mode)


def memory(name: str, library: str, lists: str, mode: str) -> dict[str, float]:
    """MiB of ours and theirs."""
    return {
        whose: harness.memory_growth(memory_runs, whose, name, library, lists, mode) for whose in ("ours", "theirs")
    }


def tables(runs: Rows) -> dict[str, Rows]:
    """For each library and quantity, a line per loss and mode."""
    found = {}
    for library, package in PACKAGES.items():
        for what, unit in (("time", "ms"), ("memory", "MiB")):
            own = [run for run in runs if run["library"] == library and run["what"] == what]
            lines: dict[tuple[str, str], dict[str, Any]] = {}
            for lists in dict.fromkeys(run["lists"] for run in own):
                for run in own:
                    if run["lists"] == lists:
                        line = lines.setdefault((run["loss"], run["mode"]), {"loss": run["loss"], "mode": run["mode"]})
                        line[f"{lists}, ours, {unit}"] = run["ours"]
                        line[f"{lists}, {library}, {unit}"] = run["theirs"]
                        line["ratio" if what == "memory" else f"{lists}, ratio"] = run["theirs"] / run["ours"]
            if lines:
                found[f"{what}-{package}"] = list(lines.values())
    return found


def pending(what: Sequence[str], names: Sequence[str], shapes: dict[str, list[str]]) -> Iterator[dict[str, str]]:
    for library, package in PACKAGES.items():
        if importlib.util.find_spec(package):
            for each in what:
                for name in names:
                    if CASES[name].name_in(library) and (each == "time" or name in WITH_MEMORY):
                        for lists in shapes[each]:
                            for mode in MODES[library]:
                                yield {"what": each, "library": library, "loss": name, "lists": lists, "mode": mode}


def main(arguments: list[str] | None = None) -> dict:
    parser = harness.new_parser(__doc__)
    add = parser.add_argument
    add("--what", nargs="+", choices=["time", "memory"], default=["time", "memory"])
    add("--losses", nargs="+", choices=[*CASES], default=[*CASES], metavar="LOSS")
    add("--shapes", nargs="+", default=["64x50", "8x500", "2x2000"], help="lists times items, for time")
    add("--memory-shapes", nargs="+", default=["2x2000"])
    add("--repeats", type=int, default=25)
    add("--seconds", type=float, default=float("inf"), help="start no further run after so long")
    options = parser.parse_args(arguments)
    started, path = time.monotonic(), options.json
    result = {"benchmark": "ranking_losses", "command": harness.shown_command(), **harness.environment()}
    runs: Rows = []
    stacks: dict[str, harness.Row] = {}
    if path and path.exists() and (before := json.loads(path.read_text()))["commit"] == result["commit"]:
        runs, stacks = before["runs"], before["stacks"]
    done = [{key: run[key] for key in ("what", "library", "loss", "lists", "mode")} for run in runs]
    for key in pending(options.what, options.losses, {"time": options.shapes, "memory": options.memory_shapes}):
        if key in done:
            continue
        if time.monotonic() - started > options.seconds:
            break
        cell = key["loss"], key["library"], key["lists"], key["mode"]
        found = times(*cell, options.repeats) if key["what"] == "time" else memory(*cell)
        runs.append({**key, **found})
        print(*key.values(), *(f"{each:.3g}" for each in found.values()), flush=True)
        stacks[key["library"]] = {"library": key["library"], **result["versions"]}
        result |= {"stacks": stacks, "runs": runs, "tables": tables(runs)}
        if path:
            path.write_text(harness.as_json(result) + "\n")
    result |= {"stacks": stacks, "runs": runs, "tables": tables(runs)}
    if path:
        path.write_text(harness.as_json(result) + "\n")
    for rows in result["tables"].values():
        print(*harness.table(rows), "", sep="\n")
    return result


if __name__ == "__main__":
    main()
