"""Lists on Apache Spark: score the rows of a data frame, or write them as ELWC records. Imported when first used."""

try:
    import pyspark as _pyspark  # noqa: F401
except ImportError as _error:
    raise ImportError(
        'keras_softsort.spark needs Apache Spark, which is installed by pip install "keras-softsort[spark]"'
    ) from _error

from keras_softsort._internal.export import set_all as _set_all
from keras_softsort.spark.score import score as score
from keras_softsort.spark.write_elwc import write_elwc as write_elwc

_set_all(__name__)
