"""Runs a SavedModel through TensorFlow's C API, as a server does: no Python TensorFlow, no Keras, no package code.

This file is run by its path in a separate process and imports only the standard library and NumPy. Its arguments are
the shared library in TensorFlow's wheel, the folder of the SavedModel, and `--no-xla` to forbid XLA's compiler, as
`tensorflow_model_server` does on a CPU. It reads a pickled list of requests `(inputs by tensor, output tensors)` from
its standard input. It writes a pickled list of answers `(outputs, seconds)`. After an error it runs no more requests,
and the last answer is the message of the error.
"""

import ctypes
import os
import pickle
import sys
import time

import numpy as np

# TF_DataType of the inputs and outputs that are supported.
DTYPES = {1: np.float32, 2: np.float64, 3: np.int32, 9: np.int64, 10: np.bool_, 19: np.float16}
STRING = 7

_P, _INT, _SIZE, _TEXT = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t, ctypes.c_char_p
_FUNCTIONS = {  # result type and argument types
    "TF_NewStatus": (_P, []),
    "TF_GetCode": (_INT, [_P]),
    "TF_Message": (_TEXT, [_P]),
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
}
_DISABLE_XLA = "_ZN10tensorflow21DisableXlaCompilationEv"  # tensorflow::DisableXlaCompilation()
_STRING_BYTES = 24  # of a TF_TString


class _Output(ctypes.Structure):
    """TF_Output."""

    _fields_ = (("operation", _P), ("index", _INT))


class Servable:
    """A SavedModel, loaded by TensorFlow's shared library."""

    def __init__(self, library, folder, *, xla):
        self._api = ctypes.CDLL(library)
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(self._api, name)
            function.restype, function.argtypes = result, arguments
        if not xla:
            self._api[_DISABLE_XLA]()
        self._status, self._graph = self._api.TF_NewStatus(), self._api.TF_NewGraph()
        options, tags = self._api.TF_NewSessionOptions(), (_TEXT * 1)(b"serve")
        self._session = self._api.TF_LoadSessionFromSavedModel(
            options, None, os.fsencode(folder), tags, 1, self._graph, None, self._status
        )
        self._check_status()

    def run(self, inputs, outputs):
        """Compute the tensors `outputs` from arrays for the tensors `inputs`. Also return the session's seconds."""
        tensors = [self._tensor(array) for array in inputs.values()]
        results = (_P * len(outputs))()
        fed = (self._places(inputs), (_P * len(tensors))(*tensors), len(tensors))
        fetched = (self._places(outputs), results, len(outputs))
        started = time.perf_counter()
        self._api.TF_SessionRun(self._session, None, *fed, *fetched, None, 0, None, self._status)
        seconds = time.perf_counter() - started
        self._check_status()
        arrays = [self._array(tensor) for tensor in results]
        for tensor in [*tensors, *results]:
            self._api.TF_DeleteTensor(tensor)
        return arrays, seconds

    def _check_status(self):
        """Raise the error of the last call, if it failed."""
        if self._api.TF_GetCode(self._status) != 0:
            raise RuntimeError(self._api.TF_Message(self._status).decode())

    def _places(self, names):
        """Find the tensors named `operation:index` in the graph."""
        split = [name.rsplit(":", 1) for name in names]
        found = [_Output(self._api.TF_GraphOperationByName(self._graph, op.encode()), int(i)) for op, i in split]
        return (_Output * len(found))(*found)

    def _tensor(self, value):
        """Make a TF_Tensor of an array. Strings are an array of bytes objects."""
        value = np.asarray(value)
        code = STRING if value.dtype == object else {np.dtype(t): code for code, t in DTYPES.items()}[value.dtype]
        size = _STRING_BYTES * value.size if code == STRING else value.nbytes
        shape = (ctypes.c_int64 * value.ndim)(*value.shape)
        tensor = self._api.TF_AllocateTensor(code, shape, value.ndim, size)
        data = self._api.TF_TensorData(tensor)
        if code == STRING:
            for i, text in enumerate(value.ravel()):
                self._api.TF_StringInit(data + i * _STRING_BYTES)
                self._api.TF_StringCopy(data + i * _STRING_BYTES, text, len(text))
        else:
            ctypes.memmove(data, np.ascontiguousarray(value).ctypes.data, size)
        return tensor

    def _array(self, tensor):
        """Make an array of a TF_Tensor."""
        api, code, data = self._api, self._api.TF_TensorType(tensor), self._api.TF_TensorData(tensor)
        shape = [api.TF_Dim(tensor, i) for i in range(api.TF_NumDims(tensor))]
        if code != STRING:
            return np.frombuffer(ctypes.string_at(data, api.TF_TensorByteSize(tensor)), DTYPES[code]).reshape(shape)
        pointers = range(data or 0, (data or 0) + _STRING_BYTES * int(np.prod(shape)), _STRING_BYTES)
        texts = [ctypes.string_at(api.TF_StringGetDataPointer(p), api.TF_StringGetSize(p)) for p in pointers]
        return np.array([*texts, None], object)[:-1].reshape(shape)  # NumPy makes fixed widths of an array of bytes


def main(library, folder, *options):
    """Answer the requests on the standard input."""
    # Libraries print to standard output, which must hold nothing but the answers.
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    answers = []
    try:
        servable = Servable(library, folder, xla="--no-xla" not in options)
        for request in pickle.load(sys.stdin.buffer):
            answers.append(servable.run(*request))  # noqa: PERF401  (what was answered before an error is kept)
    except (RuntimeError, ValueError, KeyError) as error:
        answers.append(str(error))
    with output:
        pickle.dump(answers, output)


if __name__ == "__main__":
    main(*sys.argv[1:])
