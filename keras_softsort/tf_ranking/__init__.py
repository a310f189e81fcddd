"""In TF-Ranking's pipelines (TensorFlow 2.15): losses by name, pipelines that take them, a scorer with soft ranks."""

from keras_softsort._internal.export import set_all as _set_all
from keras_softsort.tf_ranking._losses import LOSSES as LOSSES
from keras_softsort.tf_ranking._losses import get_loss as get_loss
from keras_softsort.tf_ranking.pipelines import MultiTaskPipeline as MultiTaskPipeline
from keras_softsort.tf_ranking.pipelines import SimplePipeline as SimplePipeline
from keras_softsort.tf_ranking.soft_rank_scorer import SoftRankScorer as SoftRankScorer

_set_all(__name__, "LOSSES")
