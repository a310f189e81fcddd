"""From a trained ranker to TensorFlow Serving: versions, signatures, warm-up, instructions, and a run without a server.

Not imported by `import keras_softsort`: `from keras_softsort import serving`.
"""

from keras_softsort.serving.export_ranker import export_ranker
from keras_softsort.serving.print_instructions import print_instructions
from keras_softsort.serving.run_like_server import run_like_server

__all__ = ["export_ranker", "print_instructions", "run_like_server"]
