"""Judged lists of real patients as TFRecords of ExampleListWithContext, TF-Ranking's format."""

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_diabetes


def wards(count, seed, sizes=(2, 7)):
    """Lists of standardized measurements [n, 10] and grades [n] from 0 to 4.

    The patients are those of scikit-learn's diabetes data, the grades the fifths of how far their disease had
    progressed a year later.
    """
    measurements, progression = load_diabetes(return_X_y=True)
    measurements = measurements / measurements.std(axis=0)
    grades = np.searchsorted(np.quantile(progression, [0.2, 0.4, 0.6, 0.8]), progression)
    random = np.random.default_rng(seed)
    for size in random.integers(*sizes, count, endpoint=True):
        members = random.choice(len(grades), size, replace=False)
        yield measurements[members].astype(np.float32), grades[members].astype(np.float32)


def examples(features, labels):
    return [_example(measurements=row, grade=[label]) for row, label in zip(features, labels, strict=True)]


def record(features, labels):
    """The `ExampleListWithContext` of a ward, which knows the mean age."""
    from tensorflow_serving.apis import input_pb2

    context = _example(mean_age=[features[:, 0].mean()])
    return input_pb2.ExampleListWithContext(context=context, examples=examples(features, labels))


def write(path, lists):
    with tf.io.TFRecordWriter(str(path)) as file:
        for features, labels in lists:
            file.write(record(features, labels).SerializeToString())


def _example(**values):
    features = {name: tf.train.Feature(float_list=tf.train.FloatList(value=value)) for name, value in values.items()}
    return tf.train.Example(features=tf.train.Features(feature=features))
