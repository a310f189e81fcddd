"""Warnings that a user sees once."""

from __future__ import annotations

import warnings

_given: set[str] = set()


def warn_once(key: str, message: str) -> None:
    """Warn with this `message` the first time that the process asks with this `key`."""
    if key not in _given:
        _given.add(key)
        warnings.warn(message, UserWarning, stacklevel=3)
