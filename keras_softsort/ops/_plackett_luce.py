"""The log-probability of choosing items one after another, in log space whatever the range of the log-scores."""

from __future__ import annotations

import math
from typing import NamedTuple

import tensorflow as tf

# Within this of the largest, exponentials relative to it and their sums stay in the range of float64.
SAFE_RANGE = 600.0


class LogSums(NamedTuple):
    """Numbers `peak + log(total)`: added up, log 2 would be lost beside a peak of 1e30. Peaks have no gradient."""

    peaks: tf.Tensor  # -inf where the total is 0
    totals: tf.Tensor


def choice_log_probs(chosen: tf.Tensor, others: LogSums | None = None) -> tf.Tensor:
    """The log-probability of each choice: `a_i - logsumexp(a_i, ..., a_k, others)`, `[..., k]`.

    `chosen` `[..., k]` holds log-scores in the order in which their items are chosen, `others` `[...]` the logsumexp
    of those that are never chosen. Once only log-scores of -inf are left, a choice has probability 1; choosing one
    before is impossible, -inf. NaN gives NaN.
    """
    remaining = _single(chosen)
    if others is not None:
        pairs = zip(remaining, others, strict=True)
        remaining = LogSums(*(tf.concat([each, last[..., tf.newaxis]], axis=-1) for each, last in pairs))
    count = chosen.shape[-1] or tf.shape(chosen)[-1]
    peaks, totals = (each[..., :count] for each in _suffixes(remaining))
    over = tf.equal(totals, 0)
    zeros = tf.zeros_like(totals)
    log_totals = tf.math.log(tf.where(over, tf.ones_like(totals), totals))
    above = tf.cast(chosen, totals.dtype) - tf.where(over, zeros, peaks)
    return tf.cast(tf.where(over, zeros, tf.where(over, zeros, above) - log_totals), chosen.dtype)


def suffix_logsumexp(values: tf.Tensor) -> tf.Tensor:
    """`logsumexp(values[..., i:])` for each i. -inf is allowed; NaN spreads within its list alone."""
    peaks, totals = _suffixes(_single(values))
    empty = tf.equal(totals, 0)
    logs = tf.math.log(tf.where(empty, tf.ones_like(totals), totals))
    return tf.cast(tf.where(empty, tf.constant(-math.inf, totals.dtype), peaks + logs), values.dtype)


def log_sums(values: tf.Tensor) -> LogSums:
    """`logsumexp` over the last axis; with a gradient of 0, not NaN, where all are -inf."""
    return _added(_single(values))


def _single(values: tf.Tensor) -> LogSums:
    zeros = tf.zeros_like(values)
    never = tf.equal(values, -math.inf)
    finite = tf.where(never, zeros, values)
    ones = tf.exp(finite - tf.stop_gradient(finite))  # for their gradient
    return LogSums(tf.stop_gradient(values), tf.where(never, zeros, ones))


def _added(sums: LogSums) -> LogSums:
    """The sums over the last axis."""
    peak = tf.reduce_max(sums.peaks, axis=-1, keepdims=True)
    base = tf.where(tf.equal(peak, -math.inf), tf.zeros_like(peak), peak)
    return LogSums(tf.squeeze(peak, -1), tf.reduce_sum(sums.totals * tf.exp(sums.peaks - base), axis=-1))


def _suffixes(sums: LogSums) -> LogSums:
    """The sums over `[..., i:]` for each i, in float64.

    By sums of float64 exponentials where the range of all values allows that, which costs least and is as exact.
    """
    peak = tf.reduce_max(sums.peaks, axis=-1, keepdims=True)
    peak = tf.where(tf.math.is_inf(peak), tf.zeros_like(peak), peak)
    drop = tf.where(sums.peaks > -math.inf, peak - sums.peaks, tf.zeros_like(sums.peaks))
    # NaN is not above the range, and the cheaper way keeps it to its list.
    wide = tf.reduce_any(drop > SAFE_RANGE)
    return LogSums(*tf.cond(wide, lambda: _by_blocks(sums), lambda: _by_sums(sums, peak)))


def _by_sums(sums: LogSums, peak: tf.Tensor) -> LogSums:
    peaks, totals, peak = (tf.cast(each, tf.float64) for each in (*sums, peak))
    totals = tf.cumsum(totals * tf.exp(peaks - peak), axis=-1, reverse=True)
    return LogSums(tf.broadcast_to(peak, tf.shape(totals)), totals)


def _by_blocks(sums: LogSums) -> LogSums:
    """Within blocks of about sqrt(n) values, and over the totals of later blocks: O(n^1.5) time and memory."""
    shape, count = tf.shape(sums.peaks), sums.peaks.shape[-1]
    if count is None:
        count = shape[-1]
        size = tf.cast(tf.math.ceil(tf.sqrt(tf.cast(tf.maximum(count, 1), tf.float64))), tf.int32)
    else:
        size = math.isqrt(max(count - 1, 0)) + 1
    padding = -count % size
    blocked = tf.concat([shape[:-1], [(count + padding) // size, size]], axis=0)
    within = _dense(LogSums(*(tf.reshape(each, blocked) for each in _padded(sums, padding))))
    totals = _dense(LogSums(*(each[..., 0] for each in within)))
    later = _padded(LogSums(*(each[..., 1:] for each in totals)), 1)
    pairs = zip(within, later, strict=True)
    both = _added(
        LogSums(*(tf.stack([w, tf.broadcast_to(each[..., tf.newaxis], blocked)], axis=-1) for w, each in pairs))
    )
    joined = tf.concat([shape[:-1], [count + padding]], axis=0)
    return LogSums(*(tf.cast(tf.reshape(each, joined)[..., :count], tf.float64) for each in both))


def _padded(sums: LogSums, by: int | tf.Tensor) -> LogSums:
    """Empty sums appended."""
    paddings = [[0, 0]] * (sums.peaks.shape.rank - 1) + [[0, by]]
    return LogSums(tf.pad(sums.peaks, paddings, constant_values=-math.inf), tf.pad(sums.totals, paddings))


def _dense(sums: LogSums) -> LogSums:
    """`_suffixes` by its definition: O(n^2)."""
    positions = tf.range(tf.shape(sums.peaks)[-1])
    counted = positions >= positions[:, tf.newaxis]
    never = tf.constant(-math.inf, sums.peaks.dtype)
    return _added(LogSums(tf.where(counted, sums.peaks[..., tf.newaxis, :], never), sums.totals[..., tf.newaxis, :]))
