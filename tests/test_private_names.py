"""`docs/private-names.md` lists the private names of other libraries that the package uses."""

import ast
import re

from support.readme import README

ROOT = README.parent
PAGE = ROOT / "docs" / "private-names.md"
# Documented methods of named tuples.
PUBLIC = {"_replace", "_asdict", "_fields"}
# A module of TensorFlow or Keras that is no part of their interface.
MODULE = re.compile(r"(tensorflow\.(python|compiler)|keras\.src|tf_keras\.src|tensorflow\._api)\b")
# A string may be the name of a private attribute or of an entry of a graph, but for the beginning of our own names.
STRING, OUR_STRINGS = re.compile(r"_[a-z]\w*"), {"_given_"}


def sources():
    return {path.relative_to(ROOT).as_posix(): path.read_text() for path in (ROOT / "keras_softsort").rglob("*.py")}


def defined(source):
    """Names that `source` defines or assigns."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def is_private(name):
    return name.startswith("_") and not name.startswith("__") and name not in PUBLIC


def is_name(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and STRING.fullmatch(node.value)


def private_names(source, ours):
    """The private names of other libraries in `source`, where `ours` are those of the package."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if MODULE.match(alias.name))
        elif isinstance(node, ast.ImportFrom) and MODULE.match(node.module):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in ours:
            yield node.attr
        elif is_name(node) and node.value not in ours | OUR_STRINGS:
            yield node.value


def rows():
    """By name, the files that use it and the test files, as the page has them."""
    lines = [line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    return {cells[0].strip("`"): [re.findall(r"`([\w/]+\.py)`", cells[place]) for place in (1, 3)] for cells in lines}


def test_the_page_has_every_private_name_and_where_it_is_used():
    texts = sources()
    ours = {name for text in texts.values() for name in defined(text)}
    used = {}
    for path, text in sorted(texts.items()):
        for name in private_names(text, ours):
            used.setdefault(name, {})[path] = None
    listed = {name: sorted(files) for name, (files, _) in rows().items()}
    found = {name: sorted(files) for name, files in used.items()}
    missing = [f"| `{name}` | {files} | ... |" for name, files in found.items() if listed.get(name) != files]
    assert not missing, "\n".join(["avoid the name, or give it this row in docs/private-names.md:", *missing])
    gone = sorted(listed.keys() - found.keys())
    assert not gone, f"remove the rows of {gone} from docs/private-names.md: the package does not use them"


def test_each_name_has_a_test_that_exists():
    for name, (_, tests) in rows().items():
        assert tests, f"{name}: name the test that fails when it is gone"
        assert [path for path in tests if not (ROOT / path).exists()] == [], name


def test_private_names_are_found():
    source = "from tensorflow.python.eager import context\nx._mine\ny._theirs\ngetattr(z, '_mask')\nt._replace(a=1)\n"
    assert [*private_names(source, {"_mine"})] == ["tensorflow.python.eager.context", "_theirs", "_mask"]
