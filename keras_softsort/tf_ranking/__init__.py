"""In TF-Ranking's pipelines (TensorFlow 2.15): losses by name, pipelines that take them, a scorer with soft ranks."""

from keras_softsort.tf_ranking._losses import LOSSES, get_loss
from keras_softsort.tf_ranking.pipelines import MultiTaskPipeline, SimplePipeline
from keras_softsort.tf_ranking.soft_rank_scorer import SoftRankScorer

__all__ = ["LOSSES", "MultiTaskPipeline", "SimplePipeline", "SoftRankScorer", "get_loss"]
