"""motmetrics' scores of two real trackings with `match` as its assignment solver, frame by frame beside SciPy's.

motmetrics ships the people of two videos of a tracking challenge (TUD-Campus, TUD-Stadtmitte) and what a tracker found
in them. Per frame it matches people with findings by their overlap; pairs that overlap by less than half may not be
matched. Its identity scores match whole tracks. Both matchings are given to `ops.match` and to SciPy, and all events of
all frames are compared. It needs motmetrics.

    python benchmarks/operators/tracking.py --json benchmarks/results/tracking.json
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import harness
import numpy as np
import tensorflow as tf

import keras_softsort as ks

SCORES = ("num_frames", "num_matches", "num_switches", "num_false_positives", "num_misses", "mota", "motp", "idf1")


def by_match(costs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the pairs by `ops.match`; NaN marks a pair that may not be matched."""
    matching = ks.ops.match(tf.constant(np.where(np.isfinite(costs), costs, np.inf)))
    (rows,) = np.nonzero(matching.row_matched)
    return rows, matching.columns.numpy()[rows]


def main(arguments: list[str] | None = None) -> dict:
    options = harness.new_parser(__doc__).parse_args(arguments)
    import motmetrics  # noqa: PLC0415  (`by_match` needs none)

    # motmetrics 1.4 calls a function that NumPy 2 no longer has.
    np.asfarray = functools.partial(np.asarray, dtype=float)
    folder = Path(motmetrics.__file__).parent / "data"

    def rows() -> Iterator[harness.Row]:
        for video in ("TUD-Campus", "TUD-Stadtmitte"):
            truth, found = (
                motmetrics.io.loadtxt(folder / video / f"{name}.txt", fmt="mot15-2D", min_confidence=least)
                for name, least in (("gt", 1), ("test", -1))
            )
            expected = None
            for name, solver in (("SciPy", "scipy"), ("ops.match", by_match)):
                with motmetrics.lap.set_default_solver(solver):
                    tracking = motmetrics.utils.compare_to_groundtruth(truth, found, "iou", distth=0.5)
                    scores = motmetrics.metrics.create().compute(tracking, metrics=list(SCORES))
                expected = tracking.mot_events if expected is None else expected
                events = {"events": len(tracking.mot_events), "as SciPy's": str(tracking.mot_events.equals(expected))}
                yield {"video": video, "solver": name, **scores.iloc[0].to_dict(), **events}

    return harness.publish("tracking", {"tracking": rows()}, options.json)


if __name__ == "__main__":
    main()
