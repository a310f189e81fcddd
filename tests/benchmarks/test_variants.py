"""Second algorithms stay for a reason: the table of their ratios, and its page, have no exceptions."""

import json

import pytest


@pytest.fixture
def variants(monkeypatch, script):
    harness = script("harness")
    monkeypatch.syspath_prepend(str(harness.RESULTS.parent / "operators"))
    return script("variants")


def table(harness):
    return json.loads((harness.RESULTS / "variants.json").read_text())["tables"]["ratio"]


def test_each_second_algorithm_has_a_reason(variants, script):
    rows, reasons = table(script("harness")), {name: each.reason for name, each in variants.VARIANTS.items()}
    assert {row["variant"] for row in rows} == set(reasons)
    assert all(reason in {"faster", "grows slower"} or reason.startswith("promise: ") for reason in reasons.values())
    assert variants.unpaid(rows, reasons) == []


def test_the_page_has_a_sentence_for_each_algorithm_and_no_exceptions(variants, script):
    page = (script("harness").RESULTS / "variants.md").read_text()
    found = [line[4:].split("**")[0].lower() for line in page.splitlines() if line.startswith("- **")]
    assert found == list(dict.fromkeys(name.split(",")[0] for name in variants.VARIANTS))
    assert page.rstrip().splitlines()[-1].startswith(("- ", "  "))  # nothing follows them


@pytest.mark.parametrize(
    ("shape", "reason", "found"),
    [
        ("64x50", "faster", ["slow"]),
        ("64x50", "grows slower", []),
        ("64x50", "promise: LiteRT", []),
        ("64x50", "promise: ", ["slow"]),
        ("1x100000", "faster", ["slow", "long"]),
    ],
)
def test_an_algorithm_that_saves_too_little_is_found(variants, shape, reason, found):
    rows = [
        {"variant": "slow, a", "shape": "64x16", "TF": 1.0, "XLA": 1.4},
        {"variant": "slow, b", "shape": "64x50", "TF": 1.49, "XLA": 0.9},
        {"variant": "long", "shape": shape, "TF": 1.6, "XLA": 1.0},
    ]
    assert variants.unpaid(rows, {"slow, a": reason, "slow, b": "faster", "long": "faster"}) == found
