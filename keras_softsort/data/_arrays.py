"""Large arrays whose memory is returned at once, and which TensorFlow shares without a copy."""

from __future__ import annotations

import math
import mmap

import numpy as np
import tensorflow as tf

_ALIGNMENT = 64  # bytes


def zeros(shape: tuple[int, ...]) -> np.ndarray:
    """Allocate float32 zeros in memory pages of their own, which become resident when they are written.

    The pages return to the system when the array is freed, unlike memory of the allocator's heap. They have the
    alignment that TensorFlow needs to share them.
    """
    count = math.prod(shape)
    return np.frombuffer(mmap.mmap(-1, max(4 * count, 1)), np.float32, count).reshape(shape)


def shared_tensor(array: np.ndarray) -> tf.Tensor:
    """Return `array` as a tensor on the CPU, without a copy if its memory is aligned, contiguous and writable."""
    # TensorFlow aborts the process when it computes with memory of another alignment.
    can_share = array.ctypes.data % _ALIGNMENT == 0 and array.flags.c_contiguous and array.flags.writeable
    with tf.device("CPU:0"):  # input pipelines run there; otherwise every batch would be copied from a GPU
        if can_share and array.size:
            return tf.experimental.dlpack.from_dlpack(array.__dlpack__())
        return tf.constant(array)
