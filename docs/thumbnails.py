"""The thumbnails of the gallery: runs the code of each page, and keeps its last figure in `pictures/thumbnails/`.

python docs/thumbnails.py                # all pages
python docs/thumbnails.py soft-sort      # some
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from PIL import Image

GALLERY = Path(__file__).parent / "gallery"
SIZE = (480, 300)  # at most


def draw(page: Path) -> None:
    """Run the cells of a page, one after the other."""
    figures: list[plt.Figure] = []
    plt.show = lambda: figures.append(plt.gcf())
    plt.close("all")
    cells = re.findall(r"```\{code-cell\}[^\n]*\n(.*?)```", page.read_text(), flags=re.DOTALL)
    exec("".join(cells), {"__name__": page.stem})
    path = GALLERY.parent / "pictures" / "thumbnails" / f"{page.stem}.png"
    path.parent.mkdir(exist_ok=True)
    figures[-1].savefig(path, dpi=110, bbox_inches="tight")
    with Image.open(path) as picture:
        thumbnail = picture.convert("RGB")
    thumbnail.thumbnail(SIZE)
    thumbnail.quantize(64).save(path, optimize=True)
    print(path)


if __name__ == "__main__":
    for name in sys.argv[1:] or [page.stem for page in sorted(GALLERY.glob("*.md")) if page.stem != "index"]:
        draw(GALLERY / f"{name}.md")
