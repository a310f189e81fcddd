"""Time and peak memory of candidates, in child processes forked from one that has imported every library.

TensorFlow and JAX start their threads with their first operation, which the parent therefore never runs.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import resource
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import harness
import numpy as np
import tensorflow as tf
from frameworks import FRAMEWORKS, MODES, Run
from operators import COSTS, HARD_SORT, OPERATORS, OURS, candidates, data
from peers import Peer

FORK = multiprocessing.get_context("fork")
# Memory of shorter lists is that of libraries and compilers.
SHORTEST = 1000
# The least number of runs of a candidate that is not slow, however long they take.
LEAST_RUNS = 5


class Limits(NamedTuple):
    """The limits of a candidate; `seconds` are those of its timed runs, `timeout` is for all of a child."""

    bytes: float
    operations: float
    repeats: int
    seconds: float
    timeout: float


def in_child(function: Callable[..., list[dict]], *arguments: Any, timeout: float) -> list[dict]:
    """The result of `function` in another process, or how that process ended."""
    reader, writer = FORK.Pipe(duplex=False)
    process = FORK.Process(target=_send, args=(writer, function, arguments), daemon=True)
    process.start()
    writer.close()
    try:
        if not reader.poll(timeout):
            process.kill()
            return [{"failed": f"no result in {timeout:g} s"}]
        return reader.recv()
    except EOFError:
        process.join()
        return [{"failed": f"ended with {process.exitcode} (negative: killed by that signal, 9 for want of memory)"}]
    finally:
        process.join()


def _send(writer: Connection, function: Callable[..., list[dict]], arguments: tuple) -> None:
    writer.send(function(*arguments))
    writer.close()


def fitting(name: str, batch: int, size: int, with_peers: bool, limits: Limits) -> tuple[list[Peer], list[dict]]:
    """The candidates that can hold such lists, and what is said of the others."""
    kept, skipped = [], []
    for peer in candidates(name, with_peers):
        needed, operations = COSTS[peer.cost](batch, size)
        if needed > limits.bytes:
            reason = f"would hold about {needed / 2**30:.1f} GiB"
        elif operations > limits.operations:
            reason = f"would take about {operations:.0e} operations"
        else:
            kept.append(peer)
            continue
        skipped += [{"candidate": peer.name, "mode": mode, "skipped": reason} for mode in peer.modes]
    if all(peer.name == HARD_SORT.name for peer in kept):  # with nothing to be the floor of
        return [], skipped
    return kept, skipped


def times(name: str, batch: int, size: int, kept: list[Peer], limits: Limits) -> list[dict]:
    """The medians of all, which take turns."""
    arrays = data(name, batch, size)
    runs: list[tuple[Run, dict]] = []
    gradients: list[tuple[Peer, dict, np.ndarray]] = []
    records = []
    for peer in kept:
        for mode in peer.modes:
            record: dict[str, Any] = {"candidate": peer.name, "mode": mode}
            records.append(record)
            start = time.perf_counter()
            try:
                run = MODES[mode](peer.function, arrays)
                found = run()[1]
            except Exception as error:  # a peer that cannot do this shall not end the others
                record["failed"] = f"{type(error).__name__}: {_first_line(error)}"
                continue
            record["first call"] = time.perf_counter() - start
            gradients.append((peer, record, found))
            if not _is_slow(record["first call"], limits):
                run()
            runs.append((run, record))
    _take_turns(runs, limits)
    with contextlib.suppress(tf.errors.OpError):  # of lists that ours cannot hold
        _compare(gradients, lambda: MODES["TF"](OPERATORS[name].function, arrays)()[1])
    return records


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:200]


def _compare(gradients: list[tuple[Peer, dict, np.ndarray]], ours: Callable[[], np.ndarray]) -> None:
    """Write how far the gradients of peers that compute the same are from the first of ours."""
    same = [each for each in gradients if each[0].same]
    if same:
        truth = same[0][2] if same[0][0].name == OURS else ours()
        for _, record, found in same:
            record["difference"] = float(np.max(np.abs(found - truth)) / max(np.max(np.abs(truth)), 1e-30))


def _take_turns(runs: list[tuple[Run, dict]], limits: Limits) -> None:
    """Time all runs, and write the medians and quartiles into their records."""
    spent: list[list[float]] = [[] for _ in runs]
    for turn in harness.turns(list(zip(runs, spent, strict=True)), limits.repeats):
        for (run, record), seconds in turn:
            least = 1 if _is_slow(record["first call"], limits) else LEAST_RUNS
            if len(seconds) < least or sum(seconds) < limits.seconds:
                start = time.perf_counter()
                run()
                seconds.append(time.perf_counter() - start)
    for (_, record), seconds in zip(runs, spent, strict=True):
        quartiles = np.percentile(seconds, [25, 50, 75]).tolist()
        record.update({"seconds": quartiles[1], "quartiles": [quartiles[0], quartiles[2]], "runs": len(seconds)})


def _by_framework(kept: list[Peer]) -> list[list[Peer]]:
    """The candidates of each framework: what one leaves behind, in threads and in memory, slows down the next."""
    found = []
    for modes in FRAMEWORKS:
        own = [peer._replace(modes=tuple(mode for mode in peer.modes if mode in modes)) for peer in kept]
        found.append([peer for peer in own if peer.modes])
    return [group for group in found if group]


def _is_slow(first_call: float, limits: Limits) -> bool:
    """Whether once more is enough."""
    return first_call > 10 * limits.seconds


def memory(name: str, batch: int, size: int, peer: Peer, mode: str) -> list[dict]:
    """MiB at most of a process that has every library and runs this alone, compilation included; and before it."""
    before = _peak()
    MODES[mode](peer.function, data(name, batch, size))()
    return [{"peak MiB": _peak(), "MiB before": before}]


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(name: str, shape: tuple[int, int], limits: Limits, *, with_peers: bool, with_memory: bool) -> list[dict]:
    """A record for each candidate in each of its modes, on lists of `shape` (batch, n)."""
    batch, size = shape
    kept, skipped = fitting(name, batch, size, with_peers, limits)
    records = []
    for group in _by_framework(kept):
        found = in_child(times, name, batch, size, group, limits, timeout=limits.timeout)
        if "candidate" not in found[0]:  # the child ended
            found = [{"candidate": peer.name, "mode": mode, **found[0]} for peer in group for mode in peer.modes]
        records += found
    peers = {peer.name: peer for peer in kept}
    for record in records:
        if with_memory and size >= SHORTEST and "seconds" in record:
            arguments = (name, batch, size, peers[record["candidate"]], record["mode"])
            (peak,) = in_child(memory, *arguments, timeout=limits.timeout)
            record.update({f"memory {key}" if key == "failed" else key: value for key, value in peak.items()})
    return [{"operator": name, "batch": batch, "size": size, **record} for record in [*records, *skipped]]
