"""The table of `docs/coming-from/tfrs.md`: numbers of TensorFlow Recommenders 0.7.7, as recorded."""

import numpy as np
import pytest
import tensorflow as tf
from support.readme import README, fenced_blocks

import keras_softsort as ks

pytestmark = pytest.mark.default_stack_only


def page():
    """The names of the first block of the page, which compares its numbers itself."""
    block = fenced_blocks((README.parent / "docs" / "coming-from" / "tfrs.md").read_text())[0]
    names = {}
    exec(block, names)
    return names


def test_numbers_of_the_page():
    names = page()
    assert names["tfrs"]["values"] == pytest.approx([22.170568, 0.333333, 0.666667, 23.092081], abs=5e-5)
    assert names["measured"] == pytest.approx(names["tfrs"]["values"], abs=1e-4)


@pytest.mark.parametrize(("count", "expected"), [(1, 20.234650), (2, 23.289328)])
def test_hard_negatives_are_those_that_are_not_padding(count, expected):
    """`Retrieval(temperature=0.5, num_hard_negatives=count)`."""
    names = page()
    logits = names["users"] @ names["all_items"][names["ids"]].T / 0.5
    own = np.eye(6)
    labels = np.full([6, 6], -1)
    hardest = np.argsort(np.where(own, np.inf, -logits))[:, :count]  # one of the two copies of an item
    np.put_along_axis(labels, hardest, 0, axis=1)
    labels[own == 1] = 1
    loss = ks.SoftmaxLoss(reduction="sum")(labels, tf.constant(logits))
    assert float(loss) == pytest.approx(expected, abs=1e-4)
