"""Every Keras object of the package with arguments that are not the defaults, from the files of cases."""

import os

import keras_softsort as ks
from keras_softsort.layers._base import SortingLayer
from support.cases.collect import collected

# Set by `tests/conftest.py`.
EVERYTHING = "KERAS_SOFTSORT_EVERYTHING" in os.environ


def cases(subjects):
    """The cases of all `subjects`, first those of `also_try_first_options`."""
    first = sorted(subjects, key=lambda subject: not getattr(subject, "also_try_first_options", False))
    return [case for subject in first for case in subject.cases]


_LAYERS = collected("LAYERS")
# Layers that stand in a model of scores, and those of features or embeddings.
LAYERS = cases([layer for layer in _LAYERS if layer.inputs is None])
OTHER_LAYERS = cases([layer for layer in _LAYERS if layer.inputs is not None])
# Layers of scores that take a temperature per list.
SORTING_LAYERS = [case for case in LAYERS if issubclass(case.cls, SortingLayer)]
# Layers of lists along the last axis. They leave out an axis of size 1 after it.
SORTING_LAYERS_OF_LAST_AXIS = [case for case in SORTING_LAYERS if "axis" not in case.arguments]
SUBJECTS = {loss.cls: loss for loss in collected("LOSSES")}
LOSSES = cases(SUBJECTS.values())
METRICS = cases(collected("METRICS"))
LAMBDA_WEIGHTS = cases(collected("LAMBDA_WEIGHTS"))
ALL = [*LAYERS, *OTHER_LAYERS, *LOSSES, *LAMBDA_WEIGHTS, *METRICS]

# One loss of each kind. What losses share, and what Keras does to them, is tried with these each time.
KINDS = {ks.SpearmanLoss, ks.RankNetLoss, ks.PermutationCrossEntropyLoss, ks.PLRankLoss, ks.RetrievalLoss, ks.SetLoss}


def first_of_class(cases):
    """One case of each class."""
    return list({case.cls: case for case in reversed(cases)}.values())[::-1]


def needed(cases):
    """The last case of each class, which mostly learns its temperature, and the first of some; every case nightly."""
    if EVERYTHING:
        return cases
    last, first = {case.cls: case for case in cases}.values(), first_of_class(cases)
    return [case for case in cases if case in last or (case.subject.also_try_first_options and case in first)]
