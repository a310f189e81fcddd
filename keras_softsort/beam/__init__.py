"""Lists on Apache Beam: read, group by query, write ELWC records, score. Imported when first used."""

try:
    import apache_beam as _apache_beam  # noqa: F401
except ImportError as _error:
    raise ImportError(
        'keras_softsort.beam needs Apache Beam, which is installed by pip install "keras-softsort[beam]"'
    ) from _error

from keras_softsort._internal.export import set_all as _set_all
from keras_softsort.beam.model_handler import RankerModelHandler as RankerModelHandler
from keras_softsort.beam.readers import ReadParquet as ReadParquet
from keras_softsort.beam.readers import ReadSVMlight as ReadSVMlight
from keras_softsort.beam.write_elwc import WriteELWC as WriteELWC

_set_all(__name__)
