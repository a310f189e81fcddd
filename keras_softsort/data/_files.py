"""Paths and patterns of files to read."""

from __future__ import annotations

import os
from collections.abc import Sequence

import tensorflow as tf

Paths = str | os.PathLike | Sequence[str | os.PathLike]


def existing_files(paths: Paths, argument: str) -> list[str]:
    """The files that one or several paths or patterns match, sorted within each pattern."""
    patterns = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    found: list[str] = []
    for pattern in patterns:
        matches = sorted(tf.io.gfile.glob(os.fspath(pattern)))
        if not matches:
            raise ValueError(f"{argument} must match at least one file, but no file matches {os.fspath(pattern)!r}")
        found += matches
    if not found:
        raise ValueError(f"{argument} must match at least one file, got {paths!r}")
    return found
