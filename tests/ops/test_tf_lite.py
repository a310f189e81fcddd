"""What TF Lite converts, as `docs/limits.md` says."""

import pytest
import tensorflow as tf

import keras_softsort as ks

BUILT_IN = {
    "soft_sort": ks.soft_sort,
    "gumbel_softmax": lambda s: ks.gumbel_softmax(s, seed=[1, 2]),
}
BY_TENSORFLOW = {
    "neural_sort": ks.neural_sort,
    "soft_rank": ks.soft_rank,
    "soft_top_k": lambda s: ks.soft_top_k(s, 3).values,
    "soft_quantile": lambda s: ks.ops.soft_quantile(s, 0.5),
    "projection": lambda s: ks.soft_values(s, method="projection"),
    "lapsum": lambda s: ks.soft_rank(s, method="lapsum"),
}


def converter(function):
    traced = tf.function(function, input_signature=[tf.TensorSpec([2, 20])])
    return tf.lite.TFLiteConverter.from_concrete_functions([traced.get_concrete_function()])


@pytest.mark.parametrize("function", BUILT_IN.values(), ids=BUILT_IN)
def test_built_in_operations(function):
    assert converter(function).convert()


@pytest.mark.parametrize("function", BY_TENSORFLOW.values(), ids=BY_TENSORFLOW)
def test_operations_of_tensorflow(function):
    conversion = converter(function)
    conversion.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS, tf.lite.OpsSet.SELECT_TF_OPS]
    assert conversion.convert()
