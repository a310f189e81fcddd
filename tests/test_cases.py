"""Every public operator, layer, loss and metric has a file of cases, by which the shared tests find it."""

import collections
import inspect
import pathlib
import re
import types

import tensorflow as tf
from support import rules
from support.cases import collect, objects
from support.cases.keras_case import constructor_arguments
from support.readme import README

import keras_softsort as ks

# Base classes to derive from, which compute nothing.
BASES = {ks.layers.TemperatureLayer, ks.losses.ListLoss, ks.losses.ScoreLoss}
CASES = pathlib.Path(collect.__file__).parent
SUBJECTS = {path.parent.name for path in CASES.glob("*/__init__.py")}
# Base class -> a line of its file of cases.
OF_LOSS = 'LOSSES = [Loss(ks.losses.{0}, [{{"reduction": "sum", "name": "mine"}}], "{1}", oracle=ORACLE)]'
LINES = {
    tf.keras.losses.Loss: OF_LOSS,
    tf.keras.layers.Layer: 'LAYERS = [Layer(ks.layers.{0}, [{{"dtype": "float32"}}])]',
    tf.keras.metrics.Metric: 'METRICS = [Metric(ks.metrics.{0}, [{{"name": "{1}_0", "dtype": "float32"}}])]',
}


def registered():
    known = tf.keras.utils.get_custom_objects()
    return {cls for name, cls in known.items() if name.startswith("keras_softsort>")}


def public_classes():
    names = [(module, name) for module in (ks.layers, ks.losses, ks.metrics) for name in module.__all__]
    return {getattr(module, name) for module, name in names} - BASES


def names(classes):
    return sorted(cls.__name__ for cls in classes)


def test_every_object_is_registered_with_keras():
    missing, unknown = public_classes() - registered(), registered() - public_classes() - BASES
    assert not missing, f"{names(missing)} cannot be loaded by Keras: decorate them with @export and give a get_config"
    assert not unknown, f"import {names(unknown)} in `__init__.py` of their folder, as `from ... import X as X`"


def names_in(file):
    """The public names that a file of cases is about."""
    losses = getattr(file, "LOSSES", [])
    subjects = [each for kind in ("LAYERS", "METRICS", "LAMBDA_WEIGHTS") for each in getattr(file, kind, [])]
    found = {operation.name for operation in getattr(file, "OPERATIONS", [])} | {loss.operator for loss in losses}
    return (found | {subject.cls.__name__ for subject in [*subjects, *losses]}) - {None}


def complaints(files):
    """The faults of the files of cases."""
    operators = {name: each for name in ks.ops.__all__ if not isinstance(each := getattr(ks.ops, name), type)}
    linear = {name: getattr(ks.linalg, name) for name in ks.linalg.__all__}
    known = operators | {cls.__name__: cls for cls in public_classes()} | linear
    held = [(file.__name__.rpartition(".")[2], names_in(file)) for file in files]
    for file in files:
        if (hasattr(file, "OPERATIONS") or hasattr(file, "LOSSES")) and not hasattr(file, "ORACLE"):
            yield f"{file.__name__} has no ORACLE: name there its float64 truth, from tests/support/oracles"
    missing = collections.defaultdict(list)
    for name in sorted(known):
        found = [stem for stem, own in held if name in own]
        if not found:
            missing[file_name(known[name])].append(known[name])
        elif len(found) != 1 or (name in operators and found != [name]):
            yield f"{name} has cases in {found}: keep them in one file, with the name of the operator"
    for file, each in missing.items():
        own = [line(cls) for cls in each if isinstance(cls, type)]
        write = f"write {file} as the files beside it" + "".join(f", with\n  {text}" for text in own)
        yield f"{', '.join(names(each))}: no case. To be found by the shared tests, {write}"
    for stem, own in held:
        if stem.replace("_", "") not in {name.replace("_", "").lower() for name in own}:
            yield f"{stem}.py has cases of {sorted(own)}: give it the name of one of them"


def operator_name(subject):
    """The name of an operator, or of a class's operator, by the class's own name if it has no `_operator`."""
    if hasattr(subject, "_operator"):
        return subject._operator.__name__
    name = subject.__name__
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower() if isinstance(subject, type) else name


def file_name(subject):
    """The file of the cases of an operator or a class."""
    folder = next((part for part in subject.__module__.split(".") if part in SUBJECTS), "SUBJECT")
    return f"tests/support/cases/{folder}/{operator_name(subject)}.py"


def line(cls):
    """A line for the file of cases of a class, to be completed."""
    base = next((base for base in LINES if issubclass(cls, base)), None)
    text = LINES.get(base, "OPERATIONS = [Operation(ks.linalg.{0}, ...)]")
    return text.format(cls.__name__, operator_name(cls))


def test_every_operator_and_class_has_one_file_of_cases():
    found = [*complaints(collect.modules())]
    assert not found, "\n".join(found)


def more_complaints(files):
    """The faults that `files` have, and the files of the tests do not."""
    others = {*complaints(collect.modules())}
    return [text for text in complaints(files) if text not in others]


def test_a_file_of_cases_too_few_too_many_or_of_another_name_is_found():
    files = collect.modules()
    (harden,) = [file for file in files if file.__name__.endswith(".harden")]
    others = [file for file in files if file is not harden]
    (complaint,) = more_complaints(others)
    assert complaint.startswith("harden: no case.")
    assert "write tests/support/cases/sorting/harden.py as the files beside it" in complaint
    twice = "harden has cases in ['harden', 'harden']: keep them in one file, with the name of the operator"
    assert more_complaints([*files, harden]) == [twice]
    without = types.SimpleNamespace(__name__="cases.harden", OPERATIONS=harden.OPERATIONS)
    (complaint,) = more_complaints([*others, without])
    assert complaint.startswith("cases.harden has no ORACLE: name there")
    renamed = types.SimpleNamespace(__name__="cases.hard", OPERATIONS=harden.OPERATIONS, ORACLE=harden.ORACLE)
    of_operator, of_file = more_complaints([*others, renamed])
    assert of_operator.startswith("harden has cases in ['hard']: keep")
    assert of_file == "hard.py has cases of ['harden']: give it the name of one of them"


def test_a_class_without_cases_is_told_the_line_to_write():
    files = [file for file in collect.modules() if not file.__name__.endswith((".list_net_loss", ".hits"))]
    of_metric, of_loss = sorted(more_complaints(files))
    assert of_loss.startswith("ListNetLoss, list_net_loss: no case.")
    assert "write tests/support/cases/ranking/list_net_loss.py" in of_loss
    assert of_loss.endswith(OF_LOSS.format("ListNetLoss", "list_net_loss"))
    assert "write tests/support/cases/metrics/hits.py" in of_metric


# The tests of losses and metrics named test_shared_arguments.py try these with every class, tests/losses/
# test_set_loss.py the last one, which needs predictions of another shape, and tests/test_scale.py the scale of scores.
SHARED = {"dtype", "lists", "padding", "layer_axis"}


def untried(cls):
    """The arguments of a class, with their defaults, that no case sets to another value."""
    tried = collections.defaultdict(set)
    for case in objects.ALL:
        if case.cls is cls:
            for name, value in case.arguments.items():
                tried[name].add(repr(value))
    shared = SHARED | ({"scale"} if issubclass(cls, ks.losses.ScoreLoss) else set())
    arguments = constructor_arguments(cls)
    return {name: value for name, value in arguments.items() if name not in shared and not tried[name] - {repr(value)}}


def test_every_argument_has_a_case_away_from_its_default():
    tried = {case.cls for case in objects.ALL}  # another test tells the others
    found = [
        f'add "{name}" with another value than {value!r} to the options of {cls.__name__} in {file_name(cls)}'
        for cls in sorted(public_classes() & tried, key=lambda cls: cls.__name__)
        for name, value in untried(cls).items()
    ]
    assert not found, "\n".join(found)


def test_contributing_has_the_rules_of_losses():
    text = (README.parent / "CONTRIBUTING.md").read_text()
    section = text.partition("### Rules of every loss\n")[2].partition("\n### ")[0]
    lines = [" ".join(line.split()) for line in section.split("\n- ")[1:]]
    assert lines == rules.ALL


def test_derivatives_take_the_arguments_of_their_operator():
    """`trees.objective` calls both with the options of the loss."""
    found = []
    for cls in sorted(public_classes(), key=lambda cls: cls.__name__):
        derivatives = getattr(cls, "_derivatives", None)
        if derivatives is not None:
            given = inspect.signature(derivatives).parameters
            takes_all = any(each.kind is each.VAR_KEYWORD for each in given.values())
            missing = (
                [] if takes_all else [name for name in inspect.signature(cls._operator).parameters if name not in given]
            )
            place = f"{derivatives.__name__} in {derivatives.__module__.replace('.', '/')}.py"
            found += [f"add the argument {name} of {cls._operator.__name__} to {place}" for name in missing]
    assert not found, "\n".join([rules.DERIVATIVES, *found])
