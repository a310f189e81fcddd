"""Cases of `ConcatFeatures`, which takes a dict of features of lists."""

import tensorflow as tf

import keras_softsort as ks
from support.cases.keras_case import Layer

LAYERS = [Layer(ks.ConcatFeatures, [{}], inputs=lambda scores: {"a": tf.stack([scores, scores], axis=-1), "b": scores})]
