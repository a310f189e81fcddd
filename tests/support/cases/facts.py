"""Facts about a loss of scores that decide which rules hold for it, asked of its oracle.

A loss that draws noise has no oracle. Then its operator is asked in float64, at scores that overflow nothing.
"""

from __future__ import annotations

import functools
import inspect

import numpy as np
import tensorflow as tf

import keras_softsort as ks
from support.cases.of_scores import LABELS, SCORES

TAU = 0.5
# With outliers, the weights of the other items are small, and the logarithms of the oracles are finite.
SIZES = (16, 32)


class Facts:
    """Facts about a loss that its formula tells."""

    def __init__(self, loss):
        self.loss = loss
        self.has_tau = "tau" in inspect.signature(getattr(ks.ops, loss.operator)).parameters or loss.of_scores

    def losses(self, scores, tau=TAU, labels=LABELS, held=None):
        """The losses [batch] of scores [batch, n]. `held`: the scores of what the gradient holds constant."""
        loss, of_tau = self.loss, {"tau": tau} if self.has_tau else {}
        if loss.oracle is None:
            return loss.of(tf.constant(scores, tf.float64), tf.constant(labels, tf.float64), **of_tau).numpy()
        if self.has_tau and "tau" not in inspect.signature(loss.oracle).parameters:
            scores, of_tau = scores / tau, {}
        options = {
            name: value for name, value in loss.call.items() if name in inspect.signature(loss.oracle).parameters
        }
        scores, held = (each if each is None else loss.given(each) for each in (scores, held))
        return loss.truth(labels, scores, frozen=held, **of_tau, **options)

    def slopes(self, scores, item):
        """The derivatives of the losses with respect to the score of an item."""
        step = np.zeros_like(scores)
        step[:, item] = 1e-4
        return (self.losses(scores + step, held=scores) - self.losses(scores - step, held=scores)) / 2e-4

    @functools.cached_property
    def depends_on_offset(self):
        """Whether adding a number to all scores changes it."""
        return not np.allclose(self.losses(SCORES + 3), self.losses(SCORES))

    @functools.cached_property
    def depends_on_unit(self):
        """Whether scores and temperature times the same number change it, for example since it has no temperature."""
        return not self.has_tau or not np.allclose(self.losses(2 * SCORES, 2 * TAU), self.losses(SCORES))

    @functools.cached_property
    def growth(self):
        """The power of one score with which it grows: 0 if it has a limit."""
        sizes = [[np.abs(self.losses(outliers(sign * size))[:2]) for size in SIZES] for sign in (1, -1)]
        near, far = np.max(sizes, axis=0)
        return 0 if np.allclose(near, far, rtol=1e-3) else int(np.max(np.round(np.log2(far / near))))

    @property
    def grows_with_scores(self):
        return self.growth > 0

    @functools.cached_property
    def grows_in_gradient(self):
        """Whether the derivative with respect to another score has no limit as one score grows."""
        near, far = ([self.slopes(outliers(size * sign), 5) for sign in (1, -1)] for size in SIZES)
        return not np.allclose(near, far, rtol=1e-2, atol=1e-2)

    @functools.cached_property
    def costs_without_relevance(self):
        """Whether a list whose labels are all 0 may have a loss."""
        return not np.allclose(self.losses(np.ones([1, 3]), labels=np.zeros([1, 3])), 0)


def outliers(size):
    """Item 0 of the first list and item 3 of the second have the score `size`; the last list has no outlier."""
    scores = SCORES.copy()
    scores[0, 0] = scores[1, 3] = size
    return scores
