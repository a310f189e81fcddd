"""Give a release its version and date, before its commit is tagged: `python .ci/set_version.py X.Y.Z [YYYY-MM-DD]`.

It writes the version to `pyproject.toml` and `CITATION.cff`, and the date to the latter. In `CHANGELOG.md` what stood
under "Unreleased" goes under the version and the date. The date is today's if none is given.
"""

from __future__ import annotations

import datetime
import re
import sys
from collections.abc import Sequence
from pathlib import Path


def released(texts: dict[str, str], version: str, date: str) -> dict[str, str]:
    """The texts of the three files for a release."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise ValueError(f"version must be X.Y.Z, got {version!r}")
    datetime.date.fromisoformat(date)
    changelog = texts["CHANGELOG.md"]
    if f"\n## {version} (" in changelog:
        raise ValueError(f"version must be new, got {version!r}, which CHANGELOG.md has")
    if not re.search(r"^## Unreleased\n\n(?!## )\S", changelog, flags=re.MULTILINE):
        raise ValueError('CHANGELOG.md must have text under "## Unreleased"')
    citation = re.sub(r"^version: .*$", f"version: {version}", texts["CITATION.cff"], flags=re.MULTILINE)
    citation = re.sub(r"^date-released: .*\n", "", citation, flags=re.MULTILINE)
    return {
        "pyproject.toml": re.sub(r'^version = ".*"$', f'version = "{version}"', texts["pyproject.toml"], flags=re.M),
        "CITATION.cff": citation.replace(f"version: {version}\n", f"version: {version}\ndate-released: {date}\n", 1),
        "CHANGELOG.md": changelog.replace("## Unreleased\n", f"## Unreleased\n\n## {version} ({date})\n", 1),
    }


def main(arguments: Sequence[str], folder: Path) -> None:
    """Change the files in a folder for the version and the date that the arguments give."""
    if len(arguments) not in (1, 2):
        sys.exit(__doc__)
    version, date = [*arguments, datetime.date.today().isoformat()][:2]
    names = ("pyproject.toml", "CITATION.cff", "CHANGELOG.md")
    texts = {name: (folder / name).read_text() for name in names}
    for name, text in released(texts, version, date).items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:], Path(__file__).parents[1])
