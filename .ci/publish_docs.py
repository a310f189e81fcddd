"""Put a built site into the folder of its version: `python .ci/publish_docs.py SITE PAGES REF`.

PAGES is a checkout of the branch that GitHub Pages serves. The site of the branch main goes to `latest`, that of a tag
`vX.Y.Z` to `vX.Y`. `versions.json` lists the folders, newest first, and `index.html` leads to the newest release.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

LATEST = "latest"
RELEASE = re.compile(r"v(\d+)\.(\d+)")
INDEX = """<!doctype html>
<meta charset="utf-8">
<title>keras_softsort</title>
<meta http-equiv="refresh" content="0; url={0}/">
<a href="{0}/">{0}</a>
"""


def folder(ref: str) -> str:
    """The folder of a branch or tag."""
    if ref == "main":
        return LATEST
    tag = re.fullmatch(r"(v\d+\.\d+)\.\d+", ref)
    if tag is None:
        raise ValueError(f"REF must be main or a tag vX.Y.Z, got {ref!r}")
    return tag[1]


def publish(site: Path, pages: Path, ref: str) -> None:
    """Replace the folder of `ref`, and write the list of all folders and the index anew."""
    target = pages / folder(ref)
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(site, target)
    numbers = {path.name: tuple(map(int, found.groups())) for path in pages.iterdir() if (found := release(path))}
    releases = sorted(numbers, key=numbers.__getitem__, reverse=True)
    latest = [LATEST] if (pages / LATEST).is_dir() else []
    (pages / "versions.json").write_text(json.dumps([*latest, *releases]) + "\n")
    (pages / "index.html").write_text(INDEX.format((releases or latest)[0]))
    (pages / ".nojekyll").touch()  # else GitHub drops folders whose names begin with an underscore


def release(path: Path) -> re.Match[str] | None:
    """The numbers of a folder of a release."""
    return RELEASE.fullmatch(path.name) if path.is_dir() else None


if __name__ == "__main__":
    publish(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
