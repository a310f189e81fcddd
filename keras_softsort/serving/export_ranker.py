"""Export of a trained ranker as a SavedModel with signatures for ranking."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from keras_softsort._internal import arguments
from keras_softsort._internal.export import export
from keras_softsort._keras.backend import tensorflow_keras
from keras_softsort.data.elwc.parsing import check_mappings
from keras_softsort.serving._extra_files import checked_names, checked_warmup, write_names, write_warmup
from keras_softsort.serving._model_inputs import ModelInputs, model_inputs
from keras_softsort.serving._saved_model import IDS, SINGLE, SIZES, finish_export
from keras_softsort.serving._signatures import Ranker
from keras_softsort.serving._versions import NewVersion, local_path

ID_TYPES = ("int32", "int64", "string")


@export
def export_ranker(
    model: Any,
    path: str | Path,
    *,
    features: Any = None,
    feature_names: Sequence[str] | None = None,
    mask_name: str | None = None,
    padding: float = 0.0,
    item_ids: str | None = "string",
    example_features: Mapping[str, Any] | None = None,
    context_features: Mapping[str, Any] | None = None,
    top_k: int | None = None,
    warmup: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    version: int | None = None,
) -> Path | str:
    """Export a ranker to `path/version/`, a SavedModel for TensorFlow Serving, and return that folder.

    Use it for a Keras model from features of items `[batch, n, ...]`, one tensor or several by name, to scores
    `[batch, n]` or `[batch, n, 1]`. In every signature the batch size is unknown, and so is n unless the model fixes
    it:

    - `serving_default`: the features (named "features" if the model takes one tensor), and `sizes`, int32 `[batch]`,
      the number of items of each list. Items after them are padding. Sizes below 0 count as 0, sizes above n as n.
    - `with_ids`: the same with `item_ids` `[batch, n]`.
    - `elwc`: `serialized`, strings `[batch]`, each an `ExampleListWithContext` of TensorFlow Serving and TF-Ranking.
    - `regress`: `inputs`, strings `[batch]`, each a `tf.train.Example` of one item and of its list. The output is
      `outputs` `[batch]`, the score of each item alone. It also answers TensorFlow Serving's Regress API.

    The others have these outputs:

    - `scores` `[batch, n]`, with the lowest finite number in the padding. JSON, and thus the REST API, cannot express
      scores that are NaN or infinite.
    - `order` `[batch, n]`, int32: the items from best to worst, then -1. Equal scores keep their order, and NaN comes
      last. `sorted_ids` are the ids in that order, then the empty string or -1.
    - `top_k`, `top_k_scores`, `top_k_ids` `[batch, min(top_k, n)]`: the first entries of them.

    The SavedModel is for inference: it holds no custom gradients, so a gradient through it would be wrong. A server
    never sees half a model, and local exports at the same time get different numbers; see `docs/guides/serving.md`.

    Args:
      model: a built Keras model. It is called with `training=False`.
      path: the folder of the model, whose name is the name of the served model. A string with a scheme, such as
        `"gs://bucket/ranker"`, is written through `tf.io.gfile`, and returned as a string; let only one process export
        there at a time.
      features: the inputs of the model, if it does not know them or to override them: a `tf.TensorSpec` or a dictionary
        of them. Inputs `[batch, n, ...]` and `[batch, None]` belong to items, `[batch, d]` to the list.
      feature_names: name of each feature of a model of one tensor `[batch, n, f]`, such as those of the
        `RankingDataset` for training. `Scorer` takes these columns of a data frame, and refuses lists with others.
      mask_name: name of the model's bool input `[batch, n]`, if it has one, that is True for items and False for
        padding. It is derived from `sizes`; clients do not send it.
      padding: the number that replaces padded features before the model sees them, as in training (a `Masking` layer's
        `mask_value`), so they cannot affect a score. It is rounded towards 0 for integers. Strings become empty.
      item_ids: dtype of the ids in the signature `with_ids`: "string", "int32" or "int64". `None` omits the signature.
      example_features: features of an item in the signatures `elwc` and `regress`: a dictionary from names to
        `tf.io.FixedLenFeature` or `tf.io.FixedLenSequenceFeature`. A model of one tensor gets them concatenated in this
        order. `None` omits these signatures.
      context_features: features of a list in these signatures, as such a dictionary, or `None`.
      top_k: number of best items in the outputs `top_k`, `top_k_scores` and `top_k_ids`; `None` omits them.
      warmup: requests that the server runs before it serves the model, at most 1,000 in all: a dictionary from names of
        signatures to sequences of requests, each a dictionary of inputs. Needs `pip install "keras-softsort[serving]"`.
      version: number of the version; `None` takes the next one after the largest.

    Raises:
      TypeError: `model` is not a Keras model, inputs are ragged or sparse, or an argument has another type.
      ValueError: the model is not built, does not take `features`, or does not return one score per item; names,
        requests or `padding` do not fit the model; a number is out of range; or TensorFlow does not support the scheme.
      FileExistsError, NotADirectoryError: the version exists; `path` is a file.
      ImportError: `warmup` is given, and tensorflow-serving-api is not installed.

    Example:
      >>> import tempfile
      >>> from keras_softsort import serving
      >>> model = tf.keras.Sequential([tf.keras.Input((None, 2)), tf.keras.layers.Dense(1)])
      >>> serving.export_ranker(model, tempfile.mkdtemp() + "/ranker", top_k=2).name
      '1'
    """
    inputs = model_inputs(model, features, mask_name)
    reserved = {SIZES, IDS} & set(inputs.request_inputs)
    if reserved:
        raise ValueError(f"features must not have the names of other inputs of a signature, got {sorted(reserved)}")
    _check_records(inputs, context_features, example_features)
    top_k = arguments.optional_positive_integer("top_k", top_k)
    if feature_names is not None:
        feature_names = checked_names(feature_names, inputs)
    if item_ids is not None:
        item_ids = arguments.one_of("item_ids", item_ids, ID_TYPES)
    if warmup is not None:
        warmup = checked_warmup(warmup)
    ranker = Ranker(model, inputs, _checked_padding(padding, inputs), top_k, example_features, context_features)
    base = local_path(path)
    new_version = NewVersion(base, version)
    with new_version.aside() as aside:
        archive = tensorflow_keras().export.ExportArchive()
        archive.track(model)
        for name, (specs, function) in ranker.signatures(item_ids and tf.as_dtype(item_ids)).items():
            # Without AutoGraph errors in the model keep their type and message.
            unconverted = tf.autograph.experimental.do_not_convert(function)
            archive.add_endpoint(name, unconverted, input_signature=[specs])
        with contextlib.redirect_stdout(io.StringIO()):  # it prints what it wrote
            archive.write_out(str(aside), options=tf.saved_model.SaveOptions(experimental_custom_gradients=False))
        finish_export(aside)
        if feature_names is not None:
            write_names(aside, feature_names)
        if warmup is not None:
            write_warmup(aside, Path(base).resolve().name, warmup)
        return new_version.place(aside)


def _checked_padding(padding: float, inputs: ModelInputs) -> float:
    found = arguments.number("padding", padding)
    for name in inputs.item_inputs:
        dtype = inputs.specs[name].dtype
        kind = int if dtype.is_integer else float
        if (dtype.is_integer or dtype.is_floating) and not kind(dtype.min) <= found <= kind(dtype.max):
            raise ValueError(f"padding must fit into {name!r} of {dtype.name}, got {padding!r}")
    return found


def _check_records(inputs: ModelInputs, context: Mapping[str, Any] | None, examples: Mapping[str, Any] | None) -> None:
    """Raise an error if the features of records are not the inputs of the model."""
    check_mappings(context, {} if examples is None else examples)
    names = sorted(context or {})
    if examples is None and names:
        raise ValueError(f"context_features must come with example_features, got only {names}")
    if examples is None:
        return
    if inputs.structure == SINGLE and names:
        raise ValueError(f"context_features must not be given for a model of one tensor, got {names}")
    received, expected = sorted([*names, *examples]), sorted(inputs.request_inputs)
    if inputs.structure != SINGLE and received != expected:
        raise ValueError(
            f"example_features and context_features must have the model's names, {expected}, got {received}"
        )
