"""Cases of `DocumentInteractionAttention`, which takes features of lists."""

import tensorflow as tf

import keras_softsort as ks
from support.cases.keras_case import Layer

LAYERS = [
    Layer(
        ks.DocumentInteractionAttention,
        [{"num_heads": 2, "head_size": 4, "num_layers": 2, "dropout": 0.25, "input_noise_stddev": 0.5}],
        inputs=lambda scores: tf.stack([scores, scores], axis=-1),
    )
]
