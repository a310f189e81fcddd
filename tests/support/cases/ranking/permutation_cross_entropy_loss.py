"""Cases of `permutation_cross_entropy_loss` and `PermutationCrossEntropyLoss`."""

import keras_softsort as ks
from keras_softsort import ops
from support.cases.keras_case import Loss
from support.oracles import ranking as truth


def of_scores(scores, labels, *, tau=1.0, **options):
    """The loss of the permutation that NeuralSort makes of scores."""
    matrix = ops.neural_sort(scores, tau, mask=options.get("mask"))
    return ops.permutation_cross_entropy_loss(matrix, labels, **options)


ORACLE = truth.neural_sort_cross_entropy
LOSSES = [
    Loss(
        ks.PermutationCrossEntropyLoss,
        [{"direction": "ASCENDING", "reduction": "sum", "name": "mine"}, {"target": "ranks", "name": "other"}],
        "permutation_cross_entropy_loss",
        oracle=ORACLE,
        takes="permutation",
        of_scores=of_scores,
        also_try_first_options=True,
    )
]
