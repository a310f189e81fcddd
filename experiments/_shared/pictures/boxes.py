"""Boxes on scenes: what detectors found, and what is there."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle

from _shared.digit_scenes import CANVAS, NO_DIGIT, Scenes, right_boxes
from _shared.pictures.style import BAD, GOOD, INK, save


def draw_boxes(scenes: Scenes, predictions: dict[str, np.ndarray], path: Path) -> Path:
    """A row of scenes for each method; boxes are green if class and position are right, else red."""
    count = len(scenes.images)
    figure, axes = plt.subplots(
        len(predictions), count, figsize=(1.6 * count, 1.85 * len(predictions)), layout="constrained", squeeze=False
    )
    figure.suptitle("Unseen scenes: green boxes are right, red ones are not", color=INK, fontsize=13)
    for row, (name, found) in zip(axes, predictions.items(), strict=True):
        row[0].set_ylabel(name, color=INK, fontsize=10)
        right = right_boxes(scenes.targets, found)
        for axis, image, slots, is_right in zip(row, scenes.images, found, right, strict=True):
            axis.imshow(image[..., 0], cmap="gray_r", extent=(0, CANVAS, CANVAS, 0))
            axis.set(xticks=[], yticks=[])
            for slot, each in zip(slots, is_right, strict=True):
                _draw(axis, slot, GOOD if each else BAD)
    return save(figure, path)


def _draw(axis: plt.Axes, slot: np.ndarray, color: str) -> None:
    """The box and class of a slot, if it shows a digit."""
    cls = np.argmax(slot[4:])
    if cls != NO_DIGIT:
        x, y, width, height = CANVAS * slot[:4]
        corner = (x - width / 2, y - height / 2)
        axis.add_patch(Rectangle(corner, width, height, fill=False, edgecolor=color, linewidth=1.6))
        axis.text(*corner, str(cls), color="white", fontsize=7, backgroundcolor=color, ha="left", va="bottom")
