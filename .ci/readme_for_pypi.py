"""Make the links of README.md absolute, which PyPI needs: `python .ci/readme_for_pypi.py OWNER/REPOSITORY TAG`.

In the repository the links stay relative, so that they work offline and in every branch. The publish workflow runs this
before it builds the package.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

# A picture as a whole; of another link, which may hold a picture, the part after its words.
LINK = re.compile(r"(!\[[^]]*\]|\])\((?!https?://|#)([^)]+)\)")


def with_absolute_links(text: str, repository: str, tag: str) -> str:
    """The text with links to files of the repository at a tag, pictures as raw files, and links to its other pages."""

    def absolute(link: re.Match[str]) -> str:
        start, path = link.groups()
        page = f"https://github.com/{repository}"
        if path.startswith("../../"):  # from `blob/main` to issues and actions
            return f"{start}({page}/{path.removeprefix('../../')})"
        folder = f"https://raw.githubusercontent.com/{repository}" if start.startswith("!") else f"{page}/blob"
        return f"{start}({folder}/{tag}/{path})"

    return LINK.sub(absolute, text)


if __name__ == "__main__":
    README = Path(__file__).resolve().parents[1] / "README.md"
    README.write_text(with_absolute_links(README.read_text(), *sys.argv[1:]))
