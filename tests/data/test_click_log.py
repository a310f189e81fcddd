"""Logs of clicks: simulated ones, the examination of positions, and the value of another policy."""

import warnings

import numpy as np
import pytest

import keras_softsort as ks
from keras_softsort.data import ClickLog, RankingDataset, examination_curve, simulate_clicks, slate_value

pytestmark = pytest.mark.default_stack_only

CURVE = 1 / np.arange(1, 6)


def some_lists(count=20, largest=8, seed=0):
    random = np.random.default_rng(seed)
    sizes = random.integers(1, largest + 1, count)
    return RankingDataset(np.zeros([sizes.sum(), 1]), random.integers(0, 5, sizes.sum()), sizes)


def scores_of(lists, seed=1):
    return np.random.default_rng(seed).normal(size=len(lists.labels))


def simulated(lists=None, *, scores=None, **options):
    lists = lists or some_lists()
    given = scores_of(lists)
    if scores is not None:
        given = [*given[:3], scores, *given[4:]]
    return simulate_clicks(lists, given, **{"sessions": 3000, "examination": CURVE, "seed": 0, **options})


def test_a_fixed_policy_shows_each_list_in_the_order_of_its_scores():
    lists = some_lists()
    log, scores = simulated(lists), scores_of(lists)
    assert len(log) == 3000
    assert set(log.lists) == set(range(20))
    for number, items, mask in zip(log.lists, log.items, log.mask, strict=True):
        start, size = lists.starts[number], lists.sizes[number]
        own = start + np.argsort(-scores[start : start + size])
        assert mask.sum() == min(size, 5)
        np.testing.assert_array_equal(items[mask], own[:5])
    np.testing.assert_array_equal(log.clicks == -1, ~log.mask)


def test_a_random_policy_draws_plackett_luce_orders():
    lists = RankingDataset(np.zeros([3, 1]), [0, 1, 2], [3])
    log = simulate_clicks(lists, [2.0, 0.0, 1.0], sessions=20_000, examination=[1.0, 1.0], tau=2.0, seed=3)
    found = np.bincount(log.items[:, 0], minlength=3) / len(log)
    np.testing.assert_allclose(found, np.exp([1, 0, 0.5]) / np.exp([1, 0, 0.5]).sum(), atol=0.015)


def test_clicks_are_those_of_the_model():
    lists = RankingDataset(np.zeros([3, 1]), [0, 1, 2], [3])
    log = simulate_clicks(lists, [3.0, 2.0, 1.0], sessions=40_000, examination=[1.0, 0.5, 0.25], noise=0.2, seed=5)
    wanted = np.array([1.0, 0.5, 0.25]) * (0.2 + 0.8 * np.array([0, 1, 3]) / 3)
    np.testing.assert_allclose(log.clicks.mean(axis=0), wanted, atol=0.01)


@pytest.mark.parametrize(
    ("labels", "clicks"), [([1024, 0], 1), ([1025, 0], 1), ([3e4, 2e4], 1), ([1e-30, 0], 1), ([0, 0], 0)]
)
def test_clicks_of_the_best_item_are_certain_at_any_size_of_its_label(labels, clicks):
    lists = RankingDataset(np.eye(2), labels, sizes=[2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        log = simulate_clicks(lists, [1.0, 0.0], sessions=100, examination=[1.0], noise=0.0, seed=0)
    assert log.clicks.mean() == clicks


@pytest.mark.parametrize(
    ("labels", "wanted"),
    [
        ([0, 0.5, 0.5, 0.25], [0, 1, 1, (2**0.25 - 1) / (2**0.5 - 1)]),
        ([0, 1e-9, 1e-9, 5e-10], [0, 1, 1, 0.5]),
        ([0, 200, 200, 199], [0, 1, 1, 0.5]),
        ([0, 0, 0, 0], [0, 0, 0, 0]),
    ],
    ids=["below 1", "tiny", "huge", "all 0"],
)
def test_attraction_is_relative_to_the_largest_label(labels, wanted):
    lists = RankingDataset(np.zeros([4, 1]), labels, [4])
    options = {"sessions": 10_000, "examination": np.ones(4), "noise": 0, "seed": 5}
    log = simulate_clicks(lists, [4.0, 3.0, 2.0, 1.0], **options)
    np.testing.assert_allclose(log.clicks.mean(axis=0), wanted, atol=0.02)


def test_clicks_may_be_all_noise():
    assert (simulated(noise=1, examination=np.ones(5)).clicks != 0).all()


def test_a_seed_repeats_the_log():
    first, again, other = simulated(tau=1.0), simulated(tau=1.0), simulated(tau=1.0, seed=1)
    np.testing.assert_array_equal(first.items, again.items)
    np.testing.assert_array_equal(first.clicks, again.clicks)
    assert (first.items != other.items).any()


def test_lists_without_items_are_not_shown():
    lists = RankingDataset(np.zeros([2, 1]), [0, 1], [0, 2, 0])
    log = simulate_clicks(lists, [0.0, 1.0], sessions=50, examination=[1.0], seed=0)
    assert set(log.lists) == {1}


@pytest.mark.parametrize("largest", [5, 8])
def test_the_curve_is_found_on_a_random_log(largest):
    log = simulated(some_lists(largest=largest), sessions=60_000, tau=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        curve, seen = examination_curve(log)
    np.testing.assert_allclose(curve, CURVE, atol=0.02)
    assert 0 < seen <= len(np.unique(log.items[log.mask]))


@pytest.mark.parametrize(("last", "expected"), [(-1, [1, 0, 0]), (0, [1, 0, 0]), (1, [1, 0, 1])])
def test_positions_that_were_never_shown_have_no_examination(last, expected):
    log = ClickLog([0, 0], [[0, 9, 1], [1, 9, 0]], [[1, -1, last], [1, -1, last]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        curve, _ = examination_curve(log)
    np.testing.assert_allclose(curve, expected, atol=1e-6)


def test_more_rounds_come_closer():
    log = simulated(sessions=20_000, tau=1.0)
    errors = [abs(examination_curve(log, rounds=rounds)[0] - CURVE).max() for rounds in (1, 300)]
    assert errors[1] < errors[0] / 2


def test_a_fixed_log_is_warned_of():
    with pytest.warns(UserWarning, match="no item was shown at two positions"):
        _, seen = examination_curve(simulated())
    assert seen == 0


def test_a_curve_needs_clicks_at_the_first_position():
    with pytest.raises(ValueError, match="a click at the first position"):
        examination_curve(ClickLog([0], [[0, 1]], [[0, 1]]))


def test_value_of_the_same_policy_is_the_mean_of_the_log():
    log = simulated(tau=1.0)
    old = np.full(log.items.max() + 1, 0.5)
    value, error = slate_value(log, old, old)
    totals = np.where(log.mask, log.clicks, 0).sum(axis=1)
    assert value == pytest.approx(totals.mean())
    strata = [totals[log.lists == number] for number in np.unique(log.lists)]
    expected = np.sqrt(sum(len(each) * each.var(ddof=1) for each in strata)) / len(log)
    assert error == pytest.approx(expected)


def expected_examination(lists, scores, curve):
    ends = np.cumsum(lists.sizes)[:-1]
    return np.concatenate(
        [
            ks.PlackettLuce(own).expected_examination(curve[: len(own)]).numpy()
            for own in np.split(np.asarray(scores), ends)
        ]
    )


def test_value_of_another_policy():
    """Within four standard errors of the truth, which is far from the mean of the log."""
    lists = some_lists(count=6)
    scores, others = scores_of(lists), lists.labels.astype(float)
    log = simulated(lists, sessions=20_000, tau=1.0)
    old, new = (np.clip(expected_examination(lists, each, CURVE), 0, 1) for each in (scores, others))
    attraction = 0.1 + 0.9 * (2**lists.labels - 1) / 15
    shares = np.repeat(1 / len(lists), lists.sizes.sum())
    truth = (shares * new * attraction).sum()
    value, error = slate_value(log, old, new)
    assert abs(value - truth) < 4 * error
    assert abs(np.where(log.mask, log.clicks, 0).sum(axis=1).mean() - truth) > 10 * error


@pytest.mark.parametrize("tau", [0.0, 1.0])
def test_infinite_scores_are_items(tau):
    lists = RankingDataset(np.zeros([5, 1]), np.zeros(5), [2, 3])
    scores = [-np.inf, 1.0, np.inf, -np.inf, -np.inf]
    log = simulate_clicks(lists, scores, sessions=50, examination=np.ones(3), tau=tau, seed=0)
    assert {tuple(items) for items in log.items[log.lists == 0][:, :2].tolist()} == {(1, 0)}
    assert set(log.items[log.lists == 1][:, 0]) == {2}
    np.testing.assert_array_equal(log.mask.sum(axis=1), lists.sizes[log.lists])


@pytest.mark.parametrize("padding", [99, -7])
def test_value_takes_any_item_in_the_padding(padding):
    log = ClickLog([0, 0], [[0, 0], [1, padding]], [[1, -1], [1, -1]])
    assert slate_value(log, [0.5, 0.5], [0.25, 0.75]).value == 1


LISTS = RankingDataset(np.zeros([2, 1]), [0, 1], [2])
LOG = ClickLog([0], [[0, 1]], [[1, 0]])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ClickLog([0], [0, 1], [1, 0]), ValueError, "lists, items and clicks must have shapes"),
        (lambda: ClickLog([0], [[0, 1]], [[2, 0]]), ValueError, "clicks must be 1, 0, or -1 in the padding, got .2.0."),
        (lambda: ClickLog([0], [[1.7, 1]], [[1, 0]]), ValueError, "items must hold integers, got 1.7"),
        (lambda: ClickLog([0.5], [[0, 1]], [[1, 0]]), ValueError, "lists must hold integers, got 0.5"),
        (lambda: ClickLog([np.nan], [[0, 1]], [[1, 0]]), ValueError, "lists must hold integers, got nan"),
        (lambda: ClickLog(["a"], [[0, 1]], [[1, 0]]), TypeError, "lists must hold numbers, got .*'a'"),
        (lambda: ClickLog([0], [["a", "b"]], [[1, 0]]), TypeError, "items must hold numbers, got .*'a'"),
        (lambda: ClickLog([0], [[-1, 1]], [[0, 0]]), ValueError, "items must be at least 0 where shown, got -1"),
        (lambda: simulated(scores=np.nan), ValueError, "scores must not be NaN, got nan for item 3"),
        (lambda: simulated(scores="a"), TypeError, "scores must hold numbers, got .*'a'"),
        (lambda: simulated(examination=["a"]), TypeError, "examination must hold numbers, got .*'a'"),
        (lambda: simulated(seed=-1), ValueError, "seed must be at least 0, got -1"),
        (lambda: simulated(seed="a"), TypeError, "seed must be an integer, got 'a'"),
        (lambda: simulated(sessions=0), ValueError, "sessions must be at least 1"),
        (lambda: simulated(noise=1.5), ValueError, "noise must be from 0 to 1, got 1.5"),
        (lambda: simulated(noise=-0.1), ValueError, "noise must be from 0 to 1, got -0.1"),
        (lambda: simulated(noise="0.1"), TypeError, "noise must be a number, got '0.1'"),
        (lambda: simulated(tau=-1), ValueError, "tau must be at least 0"),
        (lambda: simulated(examination=[1.0, 1.5]), ValueError, "examination must be probabilities"),
        (lambda: simulated(examination=[]), ValueError, "examination must be probabilities"),
        (lambda: simulate_clicks([1], [1], sessions=1, examination=[1.0]), TypeError, "lists must be a RankingDataset"),
        (lambda: simulate_clicks(LISTS, [1.0], sessions=1, examination=[1.0]), ValueError, "one for each of the 2"),
        (
            lambda: simulate_clicks(
                RankingDataset(np.zeros([2, 1]), [0, -1], [2]), [1.0, 2.0], sessions=1, examination=[1.0]
            ),
            ValueError,
            "labels of at least 0, got -1",
        ),
        (lambda: examination_curve([1]), TypeError, "log must be a ClickLog"),
        (lambda: examination_curve(LOG, rounds=0), ValueError, "rounds must be at least 1"),
        (lambda: slate_value([1], [1.0], [1.0]), TypeError, "log must be a ClickLog"),
        (lambda: slate_value(LOG, [0.5], [0.5]), ValueError, "one for each of the 2 items, got 1 and 1"),
        (lambda: slate_value(LOG, [0.5, 0.5], [0.5]), ValueError, "one for each of the 2 items, got 2 and 1"),
        (lambda: slate_value(LOG, [0.0, 0.5], [0.5, 0.5]), ValueError, "old must be above 0 .* for item 0"),
        (lambda: slate_value(LOG, [0.5, 1.5], [0.5, 0.5]), ValueError, "old must be probabilities"),
        (lambda: slate_value(LOG, [0.5, 0.5], [0.5, np.nan]), ValueError, "new must be probabilities"),
    ],
)
def test_bad_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()
