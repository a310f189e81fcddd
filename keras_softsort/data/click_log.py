"""Logs of clicks: simulated ones, how likely each position is looked at, and the value of another policy."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from keras_softsort._internal import arguments
from keras_softsort._internal.arrays import integer_array, real_array
from keras_softsort._internal.export import export
from keras_softsort.data import arrays
from keras_softsort.data._ranking_dataset import RankingDataset


@export
@dataclass(frozen=True, eq=False)
class ClickLog:
    """The items shown in each session, their positions, and which of them were clicked.

    `simulate_clicks` returns it, and you make it from your own log. The clicks are labels for the losses: -1 marks
    padding. The features of what was shown are `features[log.items]`, `[sessions, k, f]`.

    Args:
      lists: the number of the list of each session, `[sessions]`.
      items: the item at each position, `[sessions, k]`: its row in the features of all lists. Any row where padded.
      clicks: 1 for a click and 0 for none, `[sessions, k]`; -1 where fewer than k items were shown.

    Raises:
      ValueError: shapes do not match, a click is not 1, 0 or -1, or a list or item is no integer or below 0.
      TypeError: `lists` or `items` do not hold numbers.

    Example:
      >>> ks.data.ClickLog(lists=[0, 0], items=[[4, 2], [2, 4]], clicks=[[1, 0], [0, -1]]).mask.tolist()
      [[True, True], [True, False]]
    """

    lists: np.ndarray
    items: np.ndarray
    clicks: np.ndarray

    def __post_init__(self) -> None:
        lists, items = integer_array("lists", self.lists), integer_array("items", self.items)
        clicks = arrays.float32(self.clicks, "clicks")
        if items.ndim != 2 or clicks.shape != items.shape or lists.shape != items.shape[:1]:
            raise ValueError(
                "lists, items and clicks must have shapes [sessions], [sessions, k] and [sessions, k], got "
                f"{lists.shape}, {items.shape} and {clicks.shape}"
            )
        others = np.setdiff1d(clicks, (-1, 0, 1))
        if others.size:
            raise ValueError(f"clicks must be 1, 0, or -1 in the padding, got {others[:3].tolist()}")
        least = items[clicks >= 0].min(initial=0)
        if least < 0:
            raise ValueError(f"items must be at least 0 where shown, got {least}")
        for name, value in (("lists", lists), ("items", items), ("clicks", clicks)):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        counts = ", ".join(map(arrays.counted, self.items.shape, ("session", "position")))
        return f"ClickLog({counts})"

    def __len__(self) -> int:
        return len(self.lists)

    @property
    def mask(self) -> np.ndarray:
        """Whether an item was shown at each position: `[sessions, k]`."""
        return self.clicks >= 0


@export
def simulate_clicks(
    lists: RankingDataset,
    scores: Any,
    *,
    sessions: int,
    examination: Any,
    noise: float = 0.1,
    tau: float = 0.0,
    seed: int | None = None,
) -> ClickLog:
    """Simulate a `ClickLog` of sessions in which users click on items that they look at and find relevant.

    Use it for experiments with losses of clicks, because here the true relevance is known. Each session shows a list,
    chosen at random, in the order of its scores. The user looks at the position r with probability `examination[r]`. An
    item that is seen is clicked with probability `noise + (1 - noise) (2^y - 1) / (2^m - 1)`, where y is its label and
    m the largest label of all, or with probability `noise` if all labels are 0.

    Args:
      lists: a `RankingDataset` with labels of at least 0.
      scores: the scores of all items by the policy that shows them, `[items]`.
      sessions: number of sessions.
      examination: the probabilities `[k]` of looking at the first k positions. No more items are shown.
      noise: probability of a click on an irrelevant item that is seen, from 0 to 1.
      tau: temperature in units of the scores. 0 shows a list in one order. Otherwise each session draws an order from
        the Plackett-Luce distribution of the scores divided by `tau`.
      seed: integer seed, or None for another log in each call.

    Raises:
      ValueError: a number is out of range, a label is below 0 or missing, a score is NaN, or shapes do not match.
      TypeError: `lists` is not a `RankingDataset`, or a number has another type.

    Cost: O(sessions n) time and memory, for lists of up to n items.

    Example:
      >>> lists = ks.data.RankingDataset(np.eye(6), [0, 1, 2, 1, 0, 4], sizes=[3, 3])
      >>> log = ks.data.simulate_clicks(lists, [3, 2, 1, 1, 2, 3], sessions=100, examination=[1.0, 0.5], seed=0)
      >>> log.items[log.lists == 1][0].tolist()
      [5, 4]

    Source: T. Joachims et al., "Unbiased Learning-to-Rank with Biased Feedback", WSDM 2017.
    """
    curve = _probabilities("examination", examination)
    if not 0 <= arguments.number("noise", noise) <= 1:
        raise ValueError(f"noise must be from 0 to 1, got {noise!r}")
    tau = arguments.non_negative_number("tau", tau)
    if not isinstance(lists, RankingDataset):
        raise TypeError(f"lists must be a RankingDataset, got {lists!r}")
    if lists.labels is None or (lists.labels < 0).any():
        least = "none" if lists.labels is None else lists.labels.min()
        raise ValueError(f"lists must have labels of at least 0, got {least}")
    given, seed = real_array("scores", scores), arguments.optional(arguments.non_negative_integer)("seed", seed)
    if given.shape != lists.labels.shape:
        raise ValueError(f"scores must have one for each of the {len(lists.labels)} items, got shape {given.shape}")
    if np.isnan(given).any():
        raise ValueError(f"scores must not be NaN, got nan for item {np.isnan(given).argmax()}")
    random = np.random.default_rng(seed)
    chosen = random.choice(np.flatnonzero(lists.sizes), arguments.positive_integer("sessions", sessions))
    positions = np.arange(lists.sizes.max())
    shown = positions < lists.sizes[chosen, np.newaxis]
    items = np.where(shown, lists.starts[chosen, np.newaxis] + positions, 0)
    keys = np.where(shown, given[items], -np.inf)
    if tau:
        keys = keys / tau + random.gumbel(size=keys.shape)
    order = np.argsort(-keys, axis=1, kind="stable")[:, : len(curve)]
    items, shown = (np.take_along_axis(each, order, axis=1) for each in (items, shown))
    attraction = noise + (1 - noise) * _shares_of_gain(lists.labels.astype(np.float64))
    clicked = random.uniform(size=items.shape) < curve[: items.shape[1]] * attraction[items]
    return ClickLog(chosen, items, np.where(shown, clicked, -1))


def _shares_of_gain(labels: np.ndarray) -> np.ndarray:
    """`(2^y - 1) / (2^m - 1)` for the largest label m, exact for small labels and without overflow for large ones."""
    largest = labels.max()
    factors = -np.expm1(-np.log(2) * labels)  # 1 - 2^-y
    return np.exp2(labels - largest) * factors / (factors.max() or 1)


class ExaminationCurve(NamedTuple):
    """The result of `examination_curve`."""

    examination: np.ndarray  # [k], relative to the first position
    items_at_several_positions: int


@export
def examination_curve(log: ClickLog, *, rounds: int = 300) -> ExaminationCurve:
    """Estimate how likely users look at each position, relative to the first one, from clicks alone.

    Use it to weight clicks by their position. In the model an item i at position r is clicked with probability
    `e_r a_i`. Expectation maximization finds the examination e and the attraction a of each item, from how often each
    item was shown and clicked at each position. Only items that were shown at several positions tell examination from
    attraction. If there is none, as with one fixed order per list, the curve is a wrong guess, and there is a warning.

    Args:
      log: a `ClickLog`.
      rounds: number of rounds of expectation maximization.

    Returns:
      The pair `examination`, `[k]`, 1 at the first position and 0 at positions where nothing was ever shown, and
      `items_at_several_positions`, how many items were shown at two positions or more.

    Raises:
      TypeError: `log` is not a `ClickLog`, or `rounds` is not an integer.
      ValueError: `rounds` is below 1, or no click is at the first position.

    Cost: O(rounds m) time for m pairs of an item and a position.

    Example:
      >>> log = ks.data.ClickLog([0] * 4, [[0, 1], [1, 0]] * 2, clicks=[[1, 0], [1, 0], [1, 1], [1, 0]])
      >>> curve, seen = ks.data.examination_curve(log)
      >>> curve.round(2).tolist(), seen
      ([1.0, 0.25], 2)

    Source: X. Wang et al., "Position Bias Estimation for Unbiased Learning to Rank in Personal Search", WSDM 2018.
    """
    if not isinstance(log, ClickLog):
        raise TypeError(f"log must be a ClickLog, got {log!r}")
    rounds, mask, width = arguments.positive_integer("rounds", rounds), log.mask, log.items.shape[1]
    keys = (log.items * width + np.arange(width))[mask]
    pairs, numbers, shown = np.unique(keys, return_inverse=True, return_counts=True)
    clicked = np.bincount(numbers, log.clicks[mask], len(pairs))
    (_, items), positions = np.unique(pairs // width, return_inverse=True), pairs % width
    seen = int((np.bincount(items) > 1).sum())
    if not clicked[positions == 0].sum():
        raise ValueError("log must have a click at the first position, to which the others are relative")
    if not seen:
        warnings.warn(
            "no item was shown at two positions: the log cannot tell examination from attraction", stacklevel=2
        )

    def mean(values: np.ndarray, of: np.ndarray, count: int) -> np.ndarray:
        return np.bincount(of, values, count) / np.maximum(np.bincount(of, shown, count), 1)

    count = items.max() + 1
    examined, attracted = mean(clicked, positions, width), np.full(count, 0.5)
    for _ in range(rounds):
        e, a = examined[positions], attracted[items]
        no_click = (shown - clicked) / np.maximum(1 - e * a, 1e-12)
        examined = mean(clicked + no_click * e * (1 - a), positions, width)
        attracted = mean(clicked + no_click * a * (1 - e), items, count)
    return ExaminationCurve(examined / examined[0], seen)


class SlateValue(NamedTuple):
    """The result of `slate_value`."""

    value: float
    standard_error: float


@export
def slate_value(log: ClickLog, old: Any, new: Any) -> SlateValue:
    """Estimate how many clicks per session another policy would get, from a log of the policy that was used.

    Use it before a new policy is shown to users. Each click on an item i counts `new_i / old_i`: the ratio of the
    probabilities that the item is looked at under both policies. The value is the mean over sessions. Its standard
    error takes the lists as strata. O(sessions k) time.

    Args:
      log: a `ClickLog` of the old policy, which must be random.
      old: the probability that each item is looked at under the old policy, `[items]`: for Plackett-Luce policies
        `PlackettLuce(scores).expected_examination(curve)`, with the scores of a list and the examination of positions.
      new: the same under the new policy, for the same user.

    Returns:
      The pair `value` and `standard_error`. Unbiased if examination is known and `old` is positive where `new` is.

    Raises:
      TypeError: `log` is not a `ClickLog`.
      ValueError: shapes do not match, a probability is outside [0, 1], or `old` is 0 for an item that was clicked.

    Example:
      >>> log = ks.data.ClickLog(lists=[0, 0, 0, 0], items=[[0], [1], [0], [1]], clicks=[[1], [0], [1], [0]])
      >>> round(ks.data.slate_value(log, old=[0.5, 0.5], new=[0.9, 0.1]).value, 6)
      0.9

    Source: A. Swaminathan, T. Joachims, "Counterfactual Risk Minimization", ICML 2015, for the weights; for items of
    slates: S. Li et al., "Offline Evaluation of Ranking Policies with Click Models", KDD 2018.
    """
    if not isinstance(log, ClickLog):
        raise TypeError(f"log must be a ClickLog, got {log!r}")
    old, new = _probabilities("old", old), _probabilities("new", new)
    count = int(log.items[log.mask].max(initial=-1)) + 1
    if len(old) < count or old.shape != new.shape:
        raise ValueError(f"old and new must have one for each of the {count} items, got {len(old)} and {len(new)}")
    clicked = log.clicks > 0
    items = log.items[clicked]  # without the padding, which may hold any number
    if not (old[items] > 0).all():
        never = items[old[items] == 0]
        raise ValueError(f"old must be above 0 for all items that were clicked, got 0 for item {never[0]}")
    ratios = np.divide(new, old, out=np.zeros_like(new), where=old > 0)
    counted = np.zeros(clicked.shape)
    counted[clicked] = ratios[items]
    values = counted.sum(axis=1)
    _, strata, sizes = np.unique(log.lists, return_inverse=True, return_counts=True)
    means = np.bincount(strata, values) / sizes
    squares = np.bincount(strata, (values - means[strata]) ** 2)
    variance = (sizes / np.maximum(sizes - 1, 1) * squares).sum() / len(log) ** 2
    return SlateValue(float(values.mean()), float(np.sqrt(variance)))


def _probabilities(name: str, values: Any) -> np.ndarray:
    found = real_array(name, values)
    if found.ndim != 1 or not len(found) or not ((found >= 0) & (found <= 1)).all():
        raise ValueError(f"{name} must be probabilities from 0 to 1, in one dimension, got {values!r}")
    return found
