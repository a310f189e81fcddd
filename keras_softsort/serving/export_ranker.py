"""A trained ranker as a SavedModel with the signatures that rankers are asked by."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.keras_compat import keras
from keras_softsort.serving._model_inputs import SINGLE, ModelInputs, model_inputs
from keras_softsort.serving._signatures import IDS, SIZES, Ranker, Records
from keras_softsort.serving._versions import new_version
from keras_softsort.serving._warmup import check_warmup, write_warmup

ID_TYPES = ("int32", "int64", "string")


def export_ranker(
    model: Any,
    path: str | Path,
    *,
    features: Any = None,
    mask_name: str | None = None,
    padding: float = 0.0,
    item_ids: str | None = "string",
    example_features: Mapping[str, Any] | None = None,
    context_features: Mapping[str, Any] | None = None,
    top_k: int | None = None,
    warmup: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    version: int | None = None,
) -> Path:
    """Write `path/version/`, which TensorFlow Serving serves as it is. Returns that folder.

    The model takes features of items `[batch, n, ...]`, one tensor or several by name, and gives scores `[batch, n]`.
    Its signatures, in which the batch and, where the model leaves it open, n are unknown:

    - `serving_default`: the features (by the name "features" where the model takes one tensor), and `sizes`, int32
      `[batch]`: the first so many items of a list are its own and the others are padding.
    - `with_ids`: the same with `item_ids` `[batch, n]`;
    - `elwc`: `serialized`, strings `[batch]`, each an `ExampleListWithContext` of TensorFlow Serving and TF-Ranking.

    Outputs, by name:

    - `scores` `[batch, n]`, the lowest finite number in the padding;
    - `order` `[batch, n]`, int32: the items from the best to the worst, then -1 as often as there is padding. Equal
      scores keep the order of the items; a score that is NaN comes after all numbers;
    - `sorted_ids` `[batch, n]`: the ids in that order, then the empty string or -1;
    - `top_k`, `top_k_scores`, `top_k_ids` `[batch, min(top_k, n)]`: the first of them.

    What stands in the padding is replaced before the model sees it, so that nothing of it can reach a score: a server
    that pads requests to one length repeats their first element. Every output starts with the batch, as the row format
    of the REST API and the server's batching require.

    Args:
      model: a built Keras model. It is called with `training=False`.
      path: the folder of the model; its name is that under which it is served.
      features: what the model takes, for one that does not know or to say it anew: a `tf.TensorSpec` or a dictionary
        of them. Inputs `[batch, n, ...]` and `[batch, None]` are of the items, `[batch, d]` of the list as a whole.
      mask_name: the name of the model's bool input `[batch, n]`, if it has one, that is True for items and not for
        padding (TF-Ranking's `mask_feature_name`). It is made of `sizes` and asked of nobody.
      padding: what takes the place of padded items' features, as in training (a `Masking` layer's `mask_value`);
        strings become empty.
      item_ids: "string", "int32" or "int64"; `None` for no signature with ids.
      example_features: for the signature `elwc`, which there is if this is given: by name, the `tf.io.FixedLenFeature`
        or `tf.io.FixedLenSequenceFeature` of each example. A model that takes one tensor gets all of them side by side
        in this order.
      context_features: the same of the list's context.
      top_k: how many of the best items to give by themselves; `None` for none.
      warmup: requests for the server to run before it serves the model, by signature name: sequences of inputs by
        name, at most 1,000 in all. Needs tensorflow-serving-api.
      version: the version's number; `None` takes the one after the largest.

    The folder is written aside, under a name that is not a number, and renamed when it is whole.

    Raises:
      TypeError: `model` is not a Keras model; inputs that are ragged or sparse; `top_k` or `version` not an integer.
      ValueError: a model that is not built, or that does not know its inputs; features that it does not take; scores
        that are not `[batch, n]`; `warmup` that does not fit its signature; `top_k` or `version` below 1.
      FileExistsError: that version exists.
      ImportError: `warmup` without tensorflow-serving-api.

    Example:

    >>> import tempfile
    >>> import tensorflow as tf
    >>> from keras_softsort import serving
    >>> keras = tf.keras
    >>> model = keras.Sequential([keras.Input((None, 2)), keras.layers.Dense(1), keras.layers.Reshape((-1,))])
    >>> folder = serving.export_ranker(model, tempfile.mkdtemp() + "/ranker", top_k=2)
    >>> folder.name, folder.parent.name
    ('1', 'ranker')
    """
    inputs = model_inputs(model, features, mask_name)
    reserved = {SIZES, IDS} & set(inputs.asked)
    if reserved:
        raise ValueError(f"features must not have the names of other inputs of a signature, got {sorted(reserved)}")
    records = _records(inputs, context_features, example_features)
    if top_k is not None:
        top_k = arguments.positive_integer("top_k", top_k)
    if item_ids is not None:
        item_ids = arguments.one_of("item_ids", item_ids, ID_TYPES)
    if warmup is not None:
        check_warmup(warmup)
    ranker = Ranker(model, inputs, padding, top_k)
    base = Path(path)
    with new_version(base, version) as (aside, folder):
        archive = keras.export.ExportArchive()
        archive.track(model)
        for name, signature in ranker.signatures(item_ids and tf.as_dtype(item_ids), records).items():
            # Errors in the model are then those that it raises.
            function = tf.autograph.experimental.do_not_convert(signature.function)
            archive.add_endpoint(name, function, input_signature=[signature.inputs])
        with contextlib.redirect_stdout(io.StringIO()):  # where it tells what it wrote
            archive.write_out(str(aside))
        if warmup is not None:
            write_warmup(aside, base.resolve().name, warmup)
    return folder


def _records(
    inputs: ModelInputs, context: Mapping[str, Any] | None, examples: Mapping[str, Any] | None
) -> Records | None:
    context = context or {}
    if examples is None:
        if context:
            raise ValueError(f"context_features must come with example_features, got {sorted(context)} alone")
        return None
    came, wanted = sorted([*context, *examples]), sorted(inputs.asked)
    if inputs.structure != SINGLE and came != wanted:
        raise ValueError(f"example_features and context_features must have the model's names, {wanted}, got {came}")
    if inputs.structure == SINGLE and context:
        raise ValueError(f"context_features must not be given for a model of one tensor, got {sorted(context)}")
    return Records(context, examples)
