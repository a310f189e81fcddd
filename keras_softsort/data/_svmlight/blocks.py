"""An SVMlight file read in blocks of whole lines."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from typing import IO, Any

from keras_softsort.data._svmlight.block import Block, parse_block
from keras_softsort.data._svmlight.lines import Rules, complaint, content, has_query

READ_BYTES = 2**23  # at a time


def read_blocks(file: IO[bytes], path: Any, first: int, num_features: int | None) -> Iterator[Block]:
    """Yield the blocks of an open file, which errors name `path`. `first` is the first index."""
    rules, lines = None, 0
    while raw := _read_lines(file, path):
        text = _plain(raw)
        if text:
            if rules is None:
                rules = Rules(has_query(text.partition(b"\n")[0].split()), first, num_features)
            block = parse_block(text, rules)
            if block is None:
                raise ValueError(f"{path}, {_first_complaint(raw, lines, rules)}")
            yield block
        lines += raw.count(b"\n")


def _read_lines(file: IO[bytes], path: Any) -> bytes:
    """Read about `READ_BYTES` of whole lines."""
    try:
        return file.read(READ_BYTES) + file.readline()
    except (EOFError, OSError, zlib.error) as error:
        raise OSError(f"{path} cannot be read or decompressed: {error}") from error


def _plain(text: bytes) -> bytes:
    """Remove comments, empty lines and repeated spaces. Each line ends with a newline."""
    if b"#" in text:
        text = re.sub(rb"#[^\n]*", b"", text)
    text = text.translate(bytes.maketrans(b"\t\r\v\f", b"    "))
    while b"  " in text:
        text = text.replace(b"  ", b" ")
    text = text.replace(b" \n", b"\n").replace(b"\n ", b"\n")
    while b"\n\n" in text:
        text = text.replace(b"\n\n", b"\n")
    text = text.strip(b" \n")
    return text and text + b"\n"


def _first_complaint(raw: bytes, before: int, rules: Rules) -> str:
    """Describe the first malformed line, with its number. `before` lines precede `raw`."""
    lines = raw.split(b"\n")
    for number, line in enumerate(lines, start=before + 1):
        parts = content(line)
        found = complaint(parts, rules) if parts else None
        if found:
            return f"line {number}: {found}"
    return f"lines {before + 1} to {before + len(lines)}: expected lines `label qid:ID index:value ...`"
