"""Folders of versions as TensorFlow Serving reads them: whole numbers, written aside and then renamed."""

from __future__ import annotations

import contextlib
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

from keras_softsort._internal import arguments


@contextlib.contextmanager
def new_version(base: Path, version: int | None) -> Iterator[tuple[Path, Path]]:
    """Where to write, and the folder `base/version` that it becomes when all went well; else nothing is left.

    A server passes over folders whose name is not a number, so it never sees half a model.
    """
    if version is not None:
        version = arguments.positive_integer("version", version)
    if base.exists() and not base.is_dir():
        raise NotADirectoryError(f"path must be a folder to write versions to, got the file {base}")
    free = _next_free(base)
    folder = base / str(version or free)
    taken = f"version {folder.name} of {base} exists already; None takes the next free one, which is {free}"
    if folder.exists():
        raise FileExistsError(taken)
    aside = base / f"writing-{folder.name}-{uuid.uuid4().hex}"
    try:
        yield aside, folder
        try:
            aside.rename(folder)
        except OSError as error:  # another process wrote that version meanwhile
            raise FileExistsError(taken) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _next_free(base: Path) -> int:
    versions = [int(path.name) for path in base.glob("*") if path.name.isdecimal()]
    return max(versions, default=0) + 1
