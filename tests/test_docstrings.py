"""Each argument of a public function or class has an entry of its own under `Args:`."""

import importlib
import importlib.util
import inspect
import re

import pytest

import keras_softsort as ks
from keras_softsort import serving
from keras_softsort.ops.ranking.lists import SHARED

pytestmark = pytest.mark.default_stack_only

MODULES = [ks.ops, ks.layers, ks.losses, ks.metrics, ks.callbacks, ks.models, ks.distributions, ks.linalg, ks.data]
MODULES += [ks.trees, serving]
for _folder, _library in {"tf_ranking": "tensorflow_ranking", "beam": "apache_beam", "spark": "pyspark"}.items():
    if importlib.util.find_spec(_library):
        MODULES.append(importlib.import_module(f"{ks.__name__}.{_folder}"))


def public():
    """Functions, classes, and public methods with a section of arguments, by a name that tells them."""
    for module in MODULES:
        for name in module.__all__:
            each = getattr(module, name)
            if not callable(each) or (inspect.isclass(each) and issubclass(each, tuple)):
                continue
            yield f"{module.__name__.rpartition('.')[2]}.{name}", each
            if inspect.isclass(each):
                methods = inspect.getmembers(each, inspect.isfunction)
                own = [(key, value) for key, value in methods if value.__module__.startswith(ks.__name__)]
                yield from (
                    (f"{name}.{key}", value) for key, value in own if key[0] != "_" and "Args:" in (value.__doc__ or "")
                )


PUBLIC = dict(public())


def entries(text):
    """The names that stand at the start of a line of the section `Args:`."""
    section = re.search(r"^Args:\n((?:  .*\n|\n)+)", f"{inspect.cleandoc(text or '')}\n", re.MULTILINE)
    if section is None:
        return set()
    lines = re.findall(r"^  (\*{0,2}\w+(?:, \*{0,2}\w+)*):(?: |$)", section[1], re.MULTILINE)
    return {name.lstrip("*") for line in lines for name in line.split(", ")}


def described(subject):
    """The entries of a function, or of a class and its base classes in the package."""
    classes = inspect.getmro(subject) if inspect.isclass(subject) else [subject]
    texts = [each.__doc__ for each in classes if each.__module__.startswith(ks.__name__)]
    return set().union(*map(entries, texts))


@pytest.mark.parametrize("name", PUBLIC)
def test_each_argument_has_an_entry(name):
    subject = PUBLIC[name]
    # Before Python 3.11.3 the signature of a class without a constructor of its own was that of `__new__` of Keras.
    function = subject.__init__ if inspect.isclass(subject) else subject
    parameters = set(inspect.signature(function).parameters) - {"self"}
    own = described(subject)
    if hasattr(subject, "derivatives"):  # an argument of all losses of lists is described by the main one
        own |= entries(ks.ops.mean_squared_loss.__doc__) & {*SHARED}
    missing, unknown = parameters - own, entries(subject.__doc__) - parameters
    assert not missing, f"describe {sorted(missing)} under `Args:` in the docstring of {name}"
    assert not unknown, f"{name} has no argument {sorted(unknown)}: remove it from `Args:` of its docstring"


def test_a_loss_refers_to_its_operator():
    losses = [getattr(ks.losses, name) for name in ks.losses.__all__]
    operators = {each: f"ops.{each._operator.__name__}" for each in losses if hasattr(each, "_operator")}
    found = [
        f"add to {each.__name__}'s docstring: The formula, edge cases, errors, cost and source are those of `{name}`."
        for each, name in operators.items()
        if f"`{name}`" not in each.__doc__
    ]
    assert not found, "\n".join(found)


def test_operators_say_that_labels_come_second():
    found = [
        name
        for name, each in PUBLIC.items()
        if name.startswith("ops.")
        and list(inspect.signature(each).parameters)[1:2] == ["labels"]
        and "first and labels second, unlike in Keras and scikit-learn."
        not in inspect.cleandoc(each.__doc__).split("\n")[2]
    ]
    assert not found, f"say in the third line of the docstring, as `ops.ndcg` does, that labels come second: {found}"


def test_a_lost_line_is_found():
    text = """Do it.

    Args:
      first: one thing,
        of which: more.
      a, b: two things.      seed: lost at the end of a line.
      **kwargs: others.

    Returns:
      third: something.
    """
    assert entries(text) == {"first", "a", "b", "kwargs"}
