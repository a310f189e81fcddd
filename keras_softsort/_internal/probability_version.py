"""Whether TensorFlow Probability (TFP) fits TensorFlow, which is checked before TFP is imported.

pip keeps a release of TFP that is installed already. One that does not fit fails at import with an obscure error.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import tensorflow as tf


def _minor(release: str) -> tuple[int, int]:
    """Return (2, 15) for "2.15.1"."""
    major, minor = release.split(".")[:2]
    return int(major), int(minor)


def check_probability_version(tensorflow: str, probability: str) -> None:
    """Raise an ImportError that names the fitting releases if this release of TFP does not fit this TensorFlow."""
    found, on = _minor(probability), _minor(tensorflow)
    if on < (2, 16):
        fits, wanted = found == (0, 23), "==0.23.*"
    else:
        fits, wanted = found >= (0, 24), ">=0.24"
    if not fits:
        raise ImportError(
            f"keras_softsort with TensorFlow {tensorflow} needs tensorflow-probability{wanted}, got "
            f'{probability}; run pip install "tensorflow-probability{wanted}"'
        )


try:
    _installed = version("tensorflow-probability")
except PackageNotFoundError:  # a nightly build has another name; if there is none, importing TFP says so
    pass
else:
    check_probability_version(tf.__version__, _installed)
