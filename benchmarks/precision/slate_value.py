"""The value of another policy from a log of clicks: whether intervals of 95% cover the truth.

50 lists of 10 items are shown by a Plackett-Luce policy, five items at a time; users look at the position r with
probability 1 / r. The value of a policy is the expected number of clicks per session. It is estimated for three other
policies: one near the logging policy, one far from it, and one that is nearly greedy.

- the mean of the log, as if the new policy were the old one;
- inverse propensities of slates: clicks times the ratio of the probabilities of the whole slate, also self-normalized;
- `data.slate_value`: each click times the ratio of the probabilities that its item is looked at.

    python benchmarks/precision/slate_value.py --json benchmarks/results/slate_value.json
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import harness
import numpy as np

import keras_softsort as ks

LISTS, ITEMS, SHOWN, NOISE = 50, 10, 5, 0.1
EXAMINATION = 1 / np.arange(1, SHOWN + 1)


def policies(random: np.random.Generator, labels: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Scores [lists, items] of the logging policy, and of the others."""
    old = random.normal(size=labels.shape)
    good = labels / labels.std()
    return old, {"near": old + 0.3 * good, "far": good, "nearly greedy": 4 * good}


def seen(scores: np.ndarray) -> np.ndarray:
    """The probability that each item is looked at: [lists * items]."""
    return np.clip(ks.PlackettLuce(scores).expected_examination(EXAMINATION).numpy().reshape(-1), 0, 1)


def slate_ratios(log: ks.data.ClickLog, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """The probability of each slate under the new policy over that under the old one: [sessions]."""
    orders = (log.items % ITEMS).astype(np.int32)
    logs = [ks.PlackettLuce(each[log.lists], top_k=SHOWN).log_prob(orders).numpy() for each in (new, old)]
    return np.exp(logs[0] - logs[1])


def estimates(log: ks.data.ClickLog, old: np.ndarray, new: np.ndarray, both: tuple) -> dict[str, tuple[float, float]]:
    """The value and its standard error, by each estimator."""
    clicks = log.clicks.sum(axis=1)
    ratios = slate_ratios(log, old, new)
    root = np.sqrt(len(log))
    weighted = ratios * clicks
    normalized = weighted.mean() / ratios.mean()
    return {
        "mean of the log": (clicks.mean(), clicks.std() / root),
        "slates": (weighted.mean(), weighted.std() / root),
        "slates, self-normalized": (normalized, (ratios * (clicks - normalized)).std() / ratios.mean() / root),
        "`data.slate_value`": tuple(ks.data.slate_value(log, *both)),
    }


def rows(options: argparse.Namespace) -> Iterator[harness.Row]:
    """Error, standard error and coverage of each estimator and policy, over repeats of the log."""
    random = np.random.default_rng(0)
    labels = random.integers(0, 5, (LISTS, ITEMS)).astype(float)
    lists = ks.data.RankingDataset(np.zeros([labels.size, 1]), labels.reshape(-1), np.full(LISTS, ITEMS))
    old, others = policies(random, labels)
    attraction = NOISE + (1 - NOISE) * (2 ** labels.reshape(-1) - 1) / 15
    known, truths = seen(old), {}
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for repeat in range(options.repeats):
        log = ks.data.simulate_clicks(
            lists,
            old.reshape(-1),
            sessions=options.sessions,
            examination=EXAMINATION,
            noise=NOISE,
            tau=1.0,
            seed=repeat,
        )
        for title, new in others.items():
            other = seen(new) if repeat == 0 else truths[title][1]
            truths[title] = ((other * attraction).sum() / LISTS, other)
            for name, estimate in estimates(log, old, new, (known, other)).items():
                found.setdefault((title, name), []).append(estimate)
    for (title, name), each in found.items():
        values, errors = np.array(each).T
        truth = truths[title][0]
        yield {
            "policy": title,
            "truth": round(float(truth), 3),
            "estimator": name,
            "root mean squared error": float(np.sqrt(((values - truth) ** 2).mean())),
            "mean standard error": float(errors.mean()),
            "truth within 1.96 standard errors": f"{(abs(values - truth) < 1.96 * errors).sum()} of {len(values)}",
        }


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    parser = harness.new_parser(__doc__)
    parser.add_argument("--repeats", type=int, default=100, help="logs")
    parser.add_argument("--sessions", type=int, default=5000, help="of each log")
    options = parser.parse_args(arguments)
    return harness.publish("slate_value", {"values": rows(options)}, options.json)


if __name__ == "__main__":
    main()
