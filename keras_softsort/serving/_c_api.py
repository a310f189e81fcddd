"""Runs a SavedModel through TensorFlow's C API, as a server does: no Python TensorFlow, no Keras, no package code.

This file is run by its path in a separate process and imports only the standard library and NumPy. It calls the shared
library in TensorFlow's wheel. Its arguments are that library and `--no-xla` to forbid XLA's compiler, as
`tensorflow_model_server` does on a CPU. It reads pickled requests `(folder, signature name, inputs by name)` from its
standard input until the end, and answers each by a pickled `(outputs by name, seconds)` or by the message of an error.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

# TF_DataType of the inputs and outputs that are supported.
DTYPES: dict[int, type] = {1: np.float32, 2: np.float64, 3: np.int32, 9: np.int64, 10: np.bool_, 19: np.float16}
STRING = 7

_P, _INT, _SIZE, _TEXT = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t, ctypes.c_char_p
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {  # result type and argument types
    "TF_NewStatus": (_P, []),
    "TF_GetCode": (_INT, [_P]),
    "TF_Message": (_TEXT, [_P]),
    "TF_DeleteStatus": (None, [_P]),
    "TF_NewGraph": (_P, []),
    "TF_NewSessionOptions": (_P, []),
    "TF_NewBuffer": (_P, []),
    "TF_LoadSessionFromSavedModel": (_P, [_P, _P, _TEXT, _P, _INT, _P, _P, _P]),
    "TF_GraphOperationByName": (_P, [_P, _TEXT]),
    "TF_SessionRun": (None, [_P, _P, _P, _P, _INT, _P, _P, _INT, _P, _INT, _P, _P]),
    "TF_AllocateTensor": (_P, [_INT, _P, _INT, _SIZE]),
    "TF_DeleteTensor": (None, [_P]),
    "TF_TensorType": (_INT, [_P]),
    "TF_TensorData": (_P, [_P]),
    "TF_TensorByteSize": (_SIZE, [_P]),
    "TF_NumDims": (_INT, [_P]),
    "TF_Dim": (ctypes.c_int64, [_P, _INT]),
    "TF_StringInit": (None, [_P]),
    "TF_StringCopy": (None, [_P, _TEXT, _SIZE]),
    "TF_StringGetDataPointer": (_P, [_P]),
    "TF_StringGetSize": (_SIZE, [_P]),
    "_ZN10tensorflow21DisableXlaCompilationEv": (None, []),  # tensorflow::DisableXlaCompilation()
}
_STRING_BYTES = 24  # of a TF_TString


class _Output(ctypes.Structure):
    """TF_Output."""

    _fields_ = (("operation", _P), ("index", _INT))


class _Buffer(ctypes.Structure):
    """TF_Buffer."""

    _fields_ = (("data", _P), ("length", _SIZE), ("deallocator", _P))


class CApi:
    """The functions of TensorFlow's shared library that are needed here."""

    def __init__(self, library: str) -> None:
        self._library = ctypes.CDLL(library)

    def __call__(self, name: str, *arguments: Any) -> Any:
        """Call a function."""
        function = self._library[name]
        function.restype, function.argtypes = _FUNCTIONS[name]
        return function(*arguments)

    def checked(self, name: str, *arguments: Any) -> Any:
        """Call a function whose last argument is a status, which is made here; raise its error."""
        status = self("TF_NewStatus")
        try:
            result = self(name, *arguments, status)
            if self("TF_GetCode", status) != 0:
                raise RuntimeError(self("TF_Message", status).decode())
            return result
        finally:
            self("TF_DeleteStatus", status)

    def tensor(self, value: Any) -> Any:
        """An array as a TF_Tensor; strings are an array of bytes objects."""
        value = np.asarray(value)
        code = STRING if value.dtype == object else {np.dtype(t): code for code, t in DTYPES.items()}[value.dtype]
        size = _STRING_BYTES * value.size if code == STRING else value.nbytes
        shape = (ctypes.c_int64 * value.ndim)(*value.shape)
        tensor = self("TF_AllocateTensor", code, shape, value.ndim, size)
        data = self("TF_TensorData", tensor)
        if code == STRING:
            for i, text in enumerate(value.ravel()):
                self("TF_StringInit", data + i * _STRING_BYTES)
                self("TF_StringCopy", data + i * _STRING_BYTES, text, len(text))
        else:
            ctypes.memmove(data, np.ascontiguousarray(value).ctypes.data, size)
        return tensor

    def array(self, tensor: Any) -> np.ndarray:
        """A TF_Tensor as an array."""
        code, data = self("TF_TensorType", tensor), self("TF_TensorData", tensor)
        shape = [self("TF_Dim", tensor, i) for i in range(self("TF_NumDims", tensor))]
        if code != STRING:
            return np.frombuffer(ctypes.string_at(data, self("TF_TensorByteSize", tensor)), DTYPES[code]).reshape(shape)
        pointers = range(data or 0, (data or 0) + _STRING_BYTES * int(np.prod(shape)), _STRING_BYTES)
        texts = [ctypes.string_at(self("TF_StringGetDataPointer", p), self("TF_StringGetSize", p)) for p in pointers]
        return np.array([*texts, None], object)[:-1].reshape(shape)  # NumPy makes fixed widths of an array of bytes


class Servable:
    """A loaded SavedModel."""

    def __init__(self, api: CApi, folder: str) -> None:
        self._api, self._graph = api, api("TF_NewGraph")
        meta_graph, tags = api("TF_NewBuffer"), (_TEXT * 1)(b"serve")
        options = api("TF_NewSessionOptions")
        self._session = api.checked(
            "TF_LoadSessionFromSavedModel", options, None, os.fsencode(folder), tags, 1, self._graph, meta_graph
        )
        buffer = ctypes.cast(meta_graph, ctypes.POINTER(_Buffer)).contents
        self.signatures = signatures(ctypes.string_at(buffer.data, buffer.length))

    def run(self, signature: str, inputs: dict[str, Any]) -> tuple[dict[str, np.ndarray], float]:
        """The outputs by name, and the seconds that the session took."""
        fed, fetched = self.signatures[signature]
        if set(fed) != set(inputs):
            raise ValueError(f"inputs must be {sorted(fed)}, got {sorted(inputs)}")
        tensors = [self._api.tensor(inputs[name]) for name in fed]
        results = (_P * len(fetched))()
        started = time.perf_counter()
        self._api.checked(
            "TF_SessionRun",
            *(self._session, None),
            *(self._outputs(fed.values()), (_P * len(tensors))(*tensors), len(tensors)),
            *(self._outputs(fetched.values()), results, len(fetched)),
            *(None, 0, None),
        )
        seconds = time.perf_counter() - started
        outputs = {name: self._api.array(tensor) for name, tensor in zip(fetched, results, strict=True)}
        for tensor in [*tensors, *results]:
            self._api("TF_DeleteTensor", tensor)
        return outputs, seconds

    def _outputs(self, names: Any) -> Any:
        """The tensors named `operation:index` of the graph."""
        split = [name.rsplit(":", 1) for name in names]
        found = [_Output(self._api("TF_GraphOperationByName", self._graph, op.encode()), int(i)) for op, i in split]
        return (_Output * len(found))(*found)


def signatures(meta_graph: bytes) -> dict[str, tuple[dict[str, str], dict[str, str]]]:
    """Signatures of a serialized MetaGraphDef: by name, the tensors of the inputs and of the outputs by their names."""
    found = {}
    for entry in _fields(meta_graph, 5):  # signature_def, a map to SignatureDef
        signature = _field(entry, 2)
        sides = [
            {_field(item, 1).decode(): _field(_field(item, 2), 1).decode() for item in _fields(signature, side)}
            for side in (1, 2)
        ]  # inputs and outputs, maps to TensorInfo, whose name comes first
        found[_field(entry, 1).decode()] = (sides[0], sides[1])
    return found


def _field(message: bytes, number: int) -> bytes:
    return next(_fields(message, number), b"")


def _fields(message: bytes, number: int) -> Iterator[bytes]:
    """The values of one length-delimited field (a string, a message) of a protocol buffer."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        kind, length = key & 7, 0
        if kind == 0:
            _, at = _varint(message, at)
        elif kind == 2:
            length, at = _varint(message, at)
            if key >> 3 == number:
                yield message[at : at + length]
        at += {1: 8, 2: length, 5: 4}.get(kind, 0)


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        byte = message[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at


def main(library: str, *options: str) -> None:
    """Answer requests until the input ends."""
    # Libraries print to standard output, which must hold nothing but the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    api, loaded = CApi(library), {}
    if "--no-xla" in options:
        api("_ZN10tensorflow21DisableXlaCompilationEv")
    while True:
        try:
            folder, signature, inputs = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        answer: Any
        try:
            if folder not in loaded:
                loaded[folder] = Servable(api, folder)
            answer = loaded[folder].run(signature, inputs)
        except (RuntimeError, ValueError, KeyError) as error:
            answer = str(error)
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
