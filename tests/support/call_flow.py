"""The files of the package that a call runs through, and the page of the documentation that lists them.

`python tests/support/call_flow.py`, from the root of the repository, writes the list of the page anew. It prints the
number of files of each call, how often the call returns to a file that it had left, and how many functions of the
package are on the stack at once. With `--stacks` it also prints these functions.
"""

import re
import sys
import textwrap
from pathlib import Path

import tensorflow as tf

import keras_softsort as ks

ROOT = Path(ks.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "how-a-call-flows.md"
# The part of the page that is written here, between two marks.
LISTS = re.compile(r"(?<=<!-- files -->\n).*(?=<!-- end of files -->)", flags=re.DOTALL)

# Folders whose files the page does not list.
SHARED = ("_internal/", "ops/core/", "_keras/")

COMPREHENSIONS = {"<dictcomp>", "<genexpr>", "<listcomp>", "<setcomp>"}

SCORES = tf.random.stateless_normal([2, 16], seed=[0, 1])
LABELS = tf.constant([[float(item % 4) for item in range(16)]] * 2)
LOGITS = tf.random.stateless_normal([2, 8, 8], seed=[0, 2])


def calls():
    """Name -> a function of scores or logits, and the tensor that it is called with."""
    sorting_layer, sinkhorn_layer = ks.NeuralSortLayer(), ks.SinkhornLayer()
    sorting_layer.build(SCORES.shape)
    sinkhorn_layer.build(LOGITS.shape)
    loss = ks.RankNetLoss(lambda_weight="ndcg")
    return {
        "ops.neural_sort": (ks.ops.neural_sort, SCORES),
        "ops.soft_rank": (ks.ops.soft_rank, SCORES),
        "NeuralSortLayer": (sorting_layer, SCORES),
        "ops.ranknet_loss": (lambda scores: ks.ops.ranknet_loss(scores, LABELS), SCORES),
        'RankNetLoss(lambda_weight="ndcg")': (lambda scores: loss(LABELS, scores), SCORES),
        "ops.plackett_luce_loss": (lambda scores: ks.ops.plackett_luce_loss(scores, LABELS), SCORES),
        "ops.neural_ndcg_loss": (lambda scores: ks.ops.neural_ndcg_loss(scores, LABELS), SCORES),
        "ops.sinkhorn": (ks.ops.sinkhorn, LOGITS),
        "SinkhornLayer": (sinkhorn_layer, LOGITS),
        "ops.linear_assignment": (ks.ops.linear_assignment, LOGITS),
    }


def other_calls():
    """Calls that the page does not list, in the form of `calls`."""
    loss, metric = ks.UniqueSoftmaxLoss(), ks.NDCG()
    return {
        "ops.unique_softmax_loss": (lambda scores: ks.ops.unique_softmax_loss(scores, LABELS), SCORES),
        "ops.approx_ndcg_loss": (lambda scores: ks.ops.approx_ndcg_loss(scores, LABELS), SCORES),
        "UniqueSoftmaxLoss": (lambda scores: loss(LABELS, scores), SCORES),
        "NDCG": (lambda scores: metric(LABELS, scores), SCORES),
    }


def trace(function, tensor):
    """Trace `function` and its gradient."""

    def with_gradient(tensor):
        with tf.GradientTape() as tape:
            tape.watch(tensor)
            result = function(tensor)
        # An exact matching has no gradient.
        return result, tape.gradient(result, tensor) if result.dtype.is_floating else None

    tf.function(with_gradient, autograph=False).get_concrete_function(tensor)


def visits_of(run):
    """The files of the package, relative to it, in the order in which their functions run during `run()`.

    A file is in the list each time that it is entered from another one. An iteration that is traced again counts once.
    """
    visits, known, folder, last = [], set(), f"{ROOT}/", None

    def note(frame, event, _):
        nonlocal last
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(folder) and file != last:
            if (last, frame.f_code) not in known:
                visits.append(file.removeprefix(folder))
            known.add((last, frame.f_code))
            last = file

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return visits


def deepest_stack(run):
    """The largest number of functions of the package that are on the stack at once during `run()`, as their names."""
    stack, deepest, folder = [], [], f"{ROOT}/"

    def note(frame, event, _):
        nonlocal deepest
        code = frame.f_code
        # A comprehension is a part of its function.
        if not code.co_filename.startswith(folder) or code.co_name in COMPREHENSIONS:
            return
        if event == "call":
            stack.append(f"{code.co_filename.removeprefix(folder)}: {code.co_qualname}")
            deepest = max(deepest, [*stack], key=len)
        elif event == "return":
            stack.pop()

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return deepest


def of_calls(measure, calls):
    """Name of each call -> `measure` of the function that traces it."""
    return {name: measure(lambda each=each: trace(*each)) for name, each in calls.items()}


def own_files(visits):
    """The files in the order in which they are first entered, without those that every call shares."""
    return [file for file in dict.fromkeys(visits) if not file.startswith(SHARED)]


def as_text(visits, stacks):
    """The list of the page."""
    entries = [
        f"- `{name}`: "
        + ", ".join(f"`{file}`" for file in own_files(files))
        + f" ({len(set(files))} files, {len(stacks[name])} functions)."
        for name, files in visits.items()
    ]
    return (
        "\n"
        + "".join(
            textwrap.fill(each, 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False) + "\n"
            for each in entries
        )
        + "\n"
    )


if __name__ == "__main__":
    visits = of_calls(visits_of, calls())
    stacks = of_calls(deepest_stack, calls() | other_calls())
    PAGE.write_text(LISTS.sub(lambda _: as_text(visits, stacks), PAGE.read_text()))
    visits |= of_calls(visits_of, other_calls())
    for name, files in visits.items():
        count = len(set(files))
        print(f"{name}: {count} files, {len(files) - count} returns, {len(stacks[name])} functions deep")
        if "--stacks" in sys.argv:
            print("".join(f"    {each}\n" for each in stacks[name]))
