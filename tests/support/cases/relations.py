"""Every public operator, loss and metric of scores, for the relations in `tests/test_metamorphic.py`."""

import re
from dataclasses import dataclass

import tensorflow as tf

import keras_softsort as ks
from support.cases.collect import collected
from support.cases.facts import Facts
from support.cases.of_scores import OfScores, labels_of


@dataclass(frozen=True, eq=False)
class OfLoss(OfScores):
    """The operator of a loss, whose exceptions from relations are those of its oracle."""

    facts: Facts = None

    def breaks(self, relation):
        return getattr(self.facts, relation)


def of_loss(loss):
    """The operator of a loss, from its case."""

    def function(scores, tau, mask):
        labels = labels_of(scores)
        given = tf.stack([scores, 0.5 * scores + 0.3], axis=-1) if loss.takes == "logits" else scores
        return loss.of(given, labels, mask=mask, **({"tau": tau} if loss.facts.has_tau else {}))

    return OfLoss(loss.operator, function, draws_noise=loss.draws_noise, is_loss=True, facts=loss.facts)


def of_metric(metric):
    """The operator of a metric, which has the name of its class."""
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", metric.cls.__name__).lower()

    def function(scores, tau, mask):
        labels = labels_of(scores)
        labels = tf.stack([labels, labels[:, ::-1]], axis=-1) if metric.takes_topics else labels
        return getattr(ks.ops, name)(scores, labels, mask=mask)

    return OfScores(name, function, forward_only=True, is_loss=True, depends_on_order_of_ties=True)


OPERATORS = collected("OF_SCORES")
LOSSES = [of_loss(loss) for loss in collected("LOSSES") if loss.takes_lists]
# Each of those that have an operator: accuracies are metrics of matrices too.
METRICS = [each for each in map(of_metric, collected("METRICS")) if each.name in ks.ops.__all__]
ALL = [*OPERATORS, *LOSSES, *METRICS]
