"""Paths and patterns of files to read, places in errors, and files that get their names when they are complete."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterator, Sequence

import tensorflow as tf

from keras_softsort._internal import arguments

Paths = str | os.PathLike | Sequence[str | os.PathLike]


def existing_files(paths: Paths, argument: str) -> list[str]:
    """Find the files that one or several paths or patterns match, sorted within each pattern."""
    patterns = [paths] if isinstance(paths, (str, os.PathLike)) else arguments.elements(argument, paths, "paths")
    found: list[str] = []
    for pattern in patterns:
        if not isinstance(pattern, (str, os.PathLike)):
            raise TypeError(f"{argument} must hold paths, got {pattern!r}")
        matches = sorted(tf.io.gfile.glob(os.fspath(pattern)))
        if not matches:
            raise ValueError(f"{argument} must match at least one file, but no file matches {os.fspath(pattern)!r}")
        found += matches
    if not found:
        raise ValueError(f"{argument} must match at least one file, got {paths!r}")
    return found


@contextlib.contextmanager
def named(place: str) -> Iterator[None]:
    """Add the name of the place to errors in the code that reads it."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from error


@contextlib.contextmanager
def folder_aside(base: str) -> Iterator[str]:
    """Yield a new folder for the files of `base`, removed at the end. A pattern or a name that exists is an error."""
    if any(character in base for character in "*?["):
        raise ValueError(f"path must be a file name, not a pattern, got {base!r}")
    existing = [name for name in [base, *tf.io.gfile.glob(f"{base}-*-of-*")] if tf.io.gfile.exists(name)]
    if existing:
        raise FileExistsError(f"path must be new, got {base!r}, but {existing[0]!r} exists already")
    folder = f"{os.path.dirname(base) or '.'}/.writing-{uuid.uuid4().hex}"
    tf.io.gfile.makedirs(folder)
    try:
        yield folder
    finally:
        with contextlib.suppress(tf.errors.OpError):
            tf.io.gfile.rmtree(folder)
