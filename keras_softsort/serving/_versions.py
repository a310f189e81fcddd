"""Folders of versions as TensorFlow Serving reads them: each has a whole number, and is complete once it is visible."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import tensorflow as tf

from keras_softsort._internal import arguments

_ASIDE = "writing"
_MOST_AGE = 24 * 3600  # seconds after which a folder that another machine is writing counts as left over
_MOST_TRIES = 100
_LARGEST = 2**63 - 1  # a server passes over a folder whose number exceeds int64
_WHOLE = "saved_model.pb"  # a folder without it is not a SavedModel


@contextlib.contextmanager
def new_version(base: Path | str, version: int | None) -> Iterator[tuple[Path, Callable[[], Path | str]]]:
    """Yield a local folder to write to, and a function that returns the final place after the context has ended.

    `base/version` appears complete or not at all, because a server ignores folders whose name is not a number. If
    `version` is `None`, it is the first free number when the folder is complete.
    """
    if version is not None:
        version = arguments.positive_integer("version", version)
        if version > _LARGEST:
            raise ValueError(f"version must be at most 2^63 - 1, which a server can read, got {version}")
    storage = _Remote(str(base)) if is_remote(base) else _Local(Path(base))
    if version is not None and version in storage.versions():
        raise storage.taken(version)
    placed: list[Path | str] = []
    with storage.aside() as aside:
        yield aside, lambda: placed[0]
        placed.append(_placed(storage, aside, version))


def is_remote(path: Path | str) -> bool:
    """Whether `path` has a scheme, as in `gs://bucket/folder`, that is not one of local files."""
    return "://" in str(path)


def local_path(path: Path | str) -> Path | str:
    """`path` with `~` expanded and without `file://`; paths with another scheme stay strings."""
    if str(path).startswith("file://"):
        return Path(str(path).removeprefix("file://"))
    if is_remote(path):
        return str(path)
    parts = Path(path).parts
    if isinstance(path, Path) and parts and len(parts[0]) > 2 and parts[0].endswith(":"):
        raise ValueError(f"path must be a string if it has a scheme, since Path shortens '//', got {path!r}")
    return Path(path).expanduser()


def model_name(base: Path | str) -> str:
    """The last part of a path, which is the name of the model on a server."""
    return str(base).rstrip("/").rpartition("/")[2] if is_remote(base) else Path(base).resolve().name


def _placed(storage: _Local | _Remote, aside: Path, version: int | None) -> Path | str:
    for _ in range(_MOST_TRIES if version is None else 1):
        number = version or max(storage.versions(), default=0) + 1
        with contextlib.suppress(FileExistsError):  # another process wrote that version meanwhile
            return storage.place(aside, number)
    raise storage.taken(number)


class _Local:
    """A folder of versions on a local file system."""

    def __init__(self, base: Path) -> None:
        if base.exists() and not base.is_dir():
            raise NotADirectoryError(f"path must be a folder to write versions to, got the file {base}")
        self._base = base

    def versions(self) -> list[int]:
        return [int(path.name) for path in self._base.glob("*") if path.name.isdecimal()]

    def taken(self, version: int) -> FileExistsError:
        free = max(self.versions(), default=0) + 1
        return FileExistsError(
            f"version {version} of {self._base} exists already; None takes the next free one, which is {free}"
        )

    @contextlib.contextmanager
    def aside(self) -> Iterator[Path]:
        for path in self._base.glob(f"{_ASIDE}-*"):
            if _is_left_over(path):
                shutil.rmtree(path, ignore_errors=True)
        aside = self._base / f"{_ASIDE}-{_host()}-{os.getpid()}-{uuid.uuid4().hex}"
        try:
            yield aside
        finally:
            shutil.rmtree(aside, ignore_errors=True)

    def place(self, aside: Path, version: int) -> Path:
        folder = self._base / str(version)
        if folder.exists():
            raise FileExistsError(folder)
        try:
            aside.rename(folder)
        except OSError as error:
            if folder.exists():
                raise FileExistsError(folder) from error
            raise
        return folder


class _Remote:
    """A folder of versions that TensorFlow reaches through `tf.io.gfile`.

    Object stores rename files one by one, so the file that makes a folder a SavedModel is copied last instead.
    """

    def __init__(self, base: str) -> None:
        self._base = base.rstrip("/")
        scheme = base.partition("://")[0]
        schemes = sorted(set(tf.io.gfile.get_registered_schemes()) - {""})
        if scheme not in schemes:
            raise ValueError(
                f"path must be local or have a scheme that this TensorFlow writes to, one of {schemes} (the package "
                f"tensorflow-io adds s3, hdfs and others), got {base!r}"
            )
        if tf.io.gfile.exists(self._base) and not tf.io.gfile.isdir(self._base):
            raise NotADirectoryError(f"path must be a folder to write versions to, got the file {base}")

    def versions(self) -> list[int]:
        if not tf.io.gfile.isdir(self._base):
            return []
        names = [name.rstrip("/") for name in tf.io.gfile.listdir(self._base)]
        return [int(name) for name in names if name.isdecimal()]

    def taken(self, version: int) -> FileExistsError:
        free = max(self.versions(), default=0) + 1
        return FileExistsError(
            f"version {version} of {self._base} exists already; None takes the next free one, which is {free}"
        )

    @contextlib.contextmanager
    def aside(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder) / "version"

    def place(self, aside: Path, version: int) -> str:
        folder = f"{self._base}/{version}"
        if tf.io.gfile.exists(folder):
            raise FileExistsError(folder)
        paths = [path for path in sorted(aside.rglob("*")) if path.is_file()]
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
    except ProcessLookupError:
        return False
    except OSError:  # it belongs to another user
        return True
    return True
