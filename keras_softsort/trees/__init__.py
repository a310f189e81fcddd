"""Ranking losses as objectives, and ranking metrics, for the trees of LightGBM and XGBoost. Neither is imported."""

from keras_softsort._internal.export import set_all as _set_all
from keras_softsort.trees.metric import metric as metric
from keras_softsort.trees.objective import objective as objective

_set_all(__name__)
