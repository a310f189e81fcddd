"""Links names such as `RankNetLoss` or `ops.sinkhorn(logits)`, in pages and docstrings, to the API reference."""

from __future__ import annotations

import re
from typing import Any

from api_pages import PAGES, public_names
from docutils import nodes
from sphinx import addnodes

import keras_softsort as ks

OTHER_LIBRARIES = ("coming-from/", "guides/tf-ranking")  # pages with tables of their names, in the first column
OF_ANOTHER = ("TF-Ranking's ", "TF-Ranking\u2019s ")  # before and after smart quotes
NAME = re.compile(r"(?:keras_softsort\.|ks\.)?((?:\w+\.)?\w+)(?:\(.*\))?")


def known_names() -> dict[str, str]:
    """Names as pages write them -> full names.

    A name is linked without its module if it is a name of `ks`, or if no other module has it and it is no plain word.
    """
    full, short = {}, {}
    for module in PAGES:
        for name in public_names(module):
            full[f"{module}.{name}"] = f"keras_softsort.{module}.{name}"
            short.setdefault(name, []).append(full[f"{module}.{name}"])
    clear = {name for name, found in short.items() if len(found) == 1 and ("_" in name or not name.islower())}
    return {**{name: found[0] for name, found in short.items() if name in clear or hasattr(ks, name)}, **full}


def add_links(app: Any, document: nodes.document) -> None:
    """Wrap each known name in a reference."""
    if app.env.docname == "changelog":
        return
    for node in list(document.findall(nodes.literal)):
        found = NAME.fullmatch(node.astext())
        target = app.api_names.get(found.group(1)) if found else None
        if target is None or isinstance(node.parent, (nodes.reference, nodes.title, addnodes.pending_xref)):
            continue
        if is_of_another_library(node) or (app.env.docname.startswith(OTHER_LIBRARIES) and in_first_column(node)):
            continue
        link = addnodes.pending_xref(
            "", refdomain="py", reftype="obj", reftarget=target, refexplicit=True, refwarn=False, refdoc=app.env.docname
        )
        node.replace_self(link)
        link += node


def is_of_another_library(node: nodes.literal) -> bool:
    """Whether the text before says so, as in "TF-Ranking's `ApproxMRRLoss`"."""
    place = node.parent.index(node)
    return place > 0 and node.parent[place - 1].astext().endswith(OF_ANOTHER)


def in_first_column(node: nodes.Node) -> bool:
    """Whether a node is in the first column of a table."""
    while node.parent is not None and not isinstance(node, nodes.entry):
        node = node.parent
    return isinstance(node, nodes.entry) and node.parent.index(node) == 0


def collect_names(app: Any) -> None:
    """Read the public names once."""
    app.api_names = known_names()


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("builder-inited", collect_names)
    app.connect("doctree-read", add_links)
    return {"parallel_read_safe": True}
