"""Runs a SavedModel through TensorFlow's C API, as a server does: no Python TensorFlow, no Keras, no package code.

This file is run by its path in a separate process and imports only the standard library and NumPy. It calls the shared
library in TensorFlow's wheel. Its arguments are that library and `--no-xla` to forbid XLA's compiler, as
`tensorflow_model_server` does on a CPU. It reads pickled requests `(folder, inputs by tensor, output tensors)` from its
standard input until the end, and answers each by a pickled `(outputs, seconds)` or by the message of an error.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import sys
import time
from collections.abc import Iterable
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
        """Make a TF_Tensor of an array. Strings are an array of bytes objects."""
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
        """Make an array of a TF_Tensor."""
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
        options, tags = api("TF_NewSessionOptions"), (_TEXT * 1)(b"serve")
        self._session = api.checked(
            "TF_LoadSessionFromSavedModel", options, None, os.fsencode(folder), tags, 1, self._graph, None
        )

    def run(self, inputs: dict[str, Any], outputs: list[str]) -> tuple[list[np.ndarray], float]:
        """Compute the tensors `outputs` from arrays for the tensors `inputs`. Also return the session's seconds."""
        tensors = [self._api.tensor(array) for array in inputs.values()]
        results = (_P * len(outputs))()
        started = time.perf_counter()
        self._api.checked(
            "TF_SessionRun",
            *(self._session, None),
            *(self._places(inputs), (_P * len(tensors))(*tensors), len(tensors)),
            *(self._places(outputs), results, len(outputs)),
            *(None, 0, None),
        )
        seconds = time.perf_counter() - started
        arrays = [self._api.array(tensor) for tensor in results]
        for tensor in [*tensors, *results]:
            self._api("TF_DeleteTensor", tensor)
        return arrays, seconds

    def _places(self, names: Iterable[str]) -> Any:
        """Find the tensors named `operation:index` in the graph."""
        split = [name.rsplit(":", 1) for name in names]
        found = [_Output(self._api("TF_GraphOperationByName", self._graph, op.encode()), int(i)) for op, i in split]
        return (_Output * len(found))(*found)


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
            folder, inputs, outputs = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        answer: Any
        try:
            if folder not in loaded:
                loaded[folder] = Servable(api, folder)
            answer = loaded[folder].run(inputs, outputs)
        except (RuntimeError, ValueError, KeyError) as error:
            answer = str(error)
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
