"""Options that the examples on handwritten numbers share."""

from __future__ import annotations

import argparse
from pathlib import Path

OPERATORS = ("neural_sort", "soft_sort")


def add_shared_options(parser: argparse.ArgumentParser, tau: float, output: Path) -> None:
    """Add them to `parser`, with the task's own temperature and folder."""
    parser.add_argument("--dataset", choices=("sklearn", "mnist"), default="sklearn")
    parser.add_argument("--data-dir", help="folder of mnist.npz (default: Keras' own loader)")
    parser.add_argument("--digits", type=int, default=2, help="digits of a number")
    parser.add_argument("--list-size", type=int, default=5, help="numbers in a list")
    parser.add_argument("--operator", choices=OPERATORS, default="neural_sort")
    parser.add_argument("--tau", type=float, default=tau, help="temperature of the operator")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=3000, help="training steps")
    parser.add_argument("--batch-size", type=int, default=32, help="lists a step")
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--test-lists", type=int, default=1000)
    parser.add_argument("--no-baselines", dest="baselines", action="store_false", help="train our model alone")
    parser.add_argument("--output", type=Path, default=output)
