"""Colors, small images and saving, shared by all pictures."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

from _shared import command_line

mpl.use("Agg")  # draws to files on machines without a screen
import matplotlib.pyplot as plt

INK, GOOD, BAD, MUTED, GOLD, BLUE = "#1b2a41", "#2a9d8f", "#d1495b", "#8d99ae", "#e9a23b", "#4361a8"


def save(figure: plt.Figure, path: Path, dpi: int = 110) -> Path:
    """Write the figure and forget it. With `--quick` its caption says that nothing was trained."""
    if command_line.is_quick():
        # Below the figure, whose layout it leaves alone: `bbox_inches` makes room for it.
        figure.text(0.5, -0.06, "quick run, not trained", color=BAD, fontsize=13, fontweight="bold", ha="center")
    figure.savefig(path, dpi=dpi, bbox_inches="tight")
    plt.close(figure)
    return path


def show_image(axis: plt.Axes, image: np.ndarray, color: str, width: float = 1.5) -> None:
    """A small image in a frame of `color`."""
    axis.imshow(image[..., 0] if image.shape[-1] == 1 else image, cmap="gray_r", aspect="equal")
    axis.set(xticks=[], yticks=[])
    axis.spines[:].set_color(color)
    axis.spines[:].set_linewidth(width)


def open_frame(axis: plt.Axes) -> None:
    """Leave out the upper and the right line of the frame."""
    axis.spines[["top", "right"]].set_visible(False)
