"""Folders of versions as TensorFlow Serving reads them: each has a whole number, and is complete once it is visible."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import tensorflow as tf

from keras_softsort._internal import arguments

_ASIDE = "writing"
_MOST_AGE = 24 * 3600  # seconds after which a folder that another machine is writing counts as left over
_MOST_TRIES = 100
_MAX_VERSION = 2**63 - 1  # a server passes over a folder whose number exceeds int64
_WHOLE = "saved_model.pb"  # a folder without it is not a SavedModel


def local_path(path: Path | str) -> Path | str:
    """Expand `~` and remove `file://`. Paths with another scheme stay strings."""
    if str(path).startswith("file://"):
        return Path(str(path).removeprefix("file://"))
    if "://" in str(path):
        return str(path)
    parts = Path(path).parts
    if isinstance(path, Path) and parts and len(parts[0]) > 2 and parts[0].endswith(":"):
        raise ValueError(f"path must be a string if it has a scheme, since Path shortens '//', got {path!r}")
    return Path(path).expanduser()


class NewVersion:
    """A new version, the first free number or `version`, in `base`. It appears complete or not at all."""

    def __init__(self, base: Path | str, version: int | None) -> None:
        self._base = base
        self._version = arguments.optional_positive_integer("version", version)
        if version is not None and version > _MAX_VERSION:
            raise ValueError(f"version must be at most 2^63 - 1, which a server can read, got {version}")
        schemes = sorted(set(tf.io.gfile.get_registered_schemes()) - {""})
        if isinstance(base, str) and base.partition("://")[0] not in schemes:
            raise ValueError(
                f"path must be local or have a scheme that this TensorFlow writes to, one of {schemes} (the package "
                f"tensorflow-io adds s3, hdfs and others), got {base!r}"
            )
        if tf.io.gfile.exists(base) and not tf.io.gfile.isdir(base):
            raise NotADirectoryError(f"path must be a folder to write versions to, got the file {base}")
        if version is not None and version in self._versions():
            raise self._taken(version)

    def _versions(self) -> list[int]:
        if not tf.io.gfile.isdir(self._base):
            return []
        names = [name.rstrip("/") for name in tf.io.gfile.listdir(self._base)]
        return [int(name) for name in names if name.isdecimal()]

    def _next(self) -> int:
        return max(self._versions(), default=0) + 1

    def _taken(self, version: int) -> FileExistsError:
        return FileExistsError(
            f"version {version} of {self._base} exists already; None takes the next free one, which is {self._next()}"
        )

    @contextlib.contextmanager
    def aside(self) -> Iterator[Path]:
        """Yield a local path for the folder to write. It is removed if it is not placed."""
        if isinstance(self._base, str):
            with tempfile.TemporaryDirectory() as folder:
                yield Path(folder) / "version"
            return
        for path in self._base.glob(f"{_ASIDE}-*"):
            if _is_left_over(path):
                shutil.rmtree(path, ignore_errors=True)
        aside = self._base / f"{_ASIDE}-{_host()}-{os.getpid()}-{uuid.uuid4().hex}"
        try:
            yield aside
        finally:
            shutil.rmtree(aside, ignore_errors=True)

    def place(self, aside: Path) -> Path | str:
        """Move the folder `aside`, which is complete, to its final place, and return that place."""
        for _ in range(_MOST_TRIES if self._version is None else 1):
            number = self._version or self._next()
            with contextlib.suppress(FileExistsError):  # another process wrote that version meanwhile
                if isinstance(self._base, str):
                    return _copied(aside, f"{self._base.rstrip('/')}/{number}")
                return _renamed(aside, self._base / str(number))
        raise self._taken(number)


def _renamed(aside: Path, folder: Path) -> Path:
    try:
        if not folder.exists():
            return aside.rename(folder)
    except OSError:
        if not folder.exists():
            raise
    raise FileExistsError(folder)


def _copied(aside: Path, folder: str) -> str:
    """Copy the file that makes a folder a SavedModel last, because object stores do not rename folders."""
    if tf.io.gfile.exists(folder):
        raise FileExistsError(folder)
    paths = [path for path in aside.rglob("*") if path.is_file()]
    try:
        for path in sorted(paths, key=lambda path: path == aside / _WHOLE):
            target = f"{folder}/{path.relative_to(aside).as_posix()}"
            tf.io.gfile.makedirs(target.rpartition("/")[0])
            tf.io.gfile.copy(str(path), target)
    except BaseException:
        with contextlib.suppress(tf.errors.OpError):
            tf.io.gfile.rmtree(folder)
        raise
    return folder


def _host() -> str:
    return "".join(c if c.isalnum() else "_" for c in socket.gethostname())


def _is_left_over(path: Path) -> bool:
    """Whether the process that wrote this folder is dead, or is on another machine and has not written for a day."""
    _, host, process, *_ = [*path.name.split("-"), "", ""]
    if host == _host() and process.isdecimal():
        return not _is_alive(int(process))
    try:
        return time.time() - max(p.stat().st_mtime for p in [path, *path.rglob("*")]) > _MOST_AGE
    except OSError:  # its writer renamed it meanwhile
        return False


def _is_alive(process: int) -> bool:
    if os.name == "nt":  # os.kill would end it
        return True
    try:
        os.kill(process, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)  # another error says that it belongs to another user
    return True
