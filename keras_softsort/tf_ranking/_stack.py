"""The one place that imports TF-Ranking, which does not run on TensorFlow after 2.15."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

try:
    import tensorflow_ranking as _tensorflow_ranking
except ImportError as error:
    raise ImportError(
        "keras_softsort.tf_ranking needs TF-Ranking 0.5.5 with TensorFlow 2.15, which are installed by "
        f'pip install "keras-softsort[tf-ranking]" on Python 3.10 or 3.11; got TensorFlow {tf.__version__} and: {error}'
    ) from error

tfr: Any = _tensorflow_ranking
