"""Cases of `Bilinear`, which takes a pair of vectors."""

import tensorflow as tf

import keras_softsort as ks
from support.cases.keras_case import Layer

LAYERS = [
    Layer(
        ks.Bilinear,
        [{"units": 2}],
        inputs=lambda scores: (tf.stack([scores, -scores], axis=-1), tf.stack([scores] * 3, axis=-1)),
    )
]
