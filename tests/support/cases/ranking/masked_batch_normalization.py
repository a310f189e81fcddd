"""Cases of `MaskedBatchNormalization`, which takes features of lists."""

import tensorflow as tf

import keras_softsort as ks
from support.cases.keras_case import Layer

LAYERS = [
    Layer(ks.MaskedBatchNormalization, [{"momentum": 0.5}], inputs=lambda scores: tf.stack([scores, scores], axis=-1))
]
