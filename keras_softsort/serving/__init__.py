"""From a trained ranker to TensorFlow Serving: versions, signatures, warm-up, client commands, offline prediction.

Not imported by `import keras_softsort`: `from keras_softsort import serving`.
"""

from keras_softsort.serving.export_ranker import export_ranker
from keras_softsort.serving.predict_offline import predict_offline
from keras_softsort.serving.print_client_commands import print_client_commands
from keras_softsort.serving.scorer import Scorer

__all__ = ["Scorer", "export_ranker", "print_client_commands", "predict_offline"]
