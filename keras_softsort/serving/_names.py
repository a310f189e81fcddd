"""Names of the signatures of an exported ranker, and of the inputs and outputs that every one of them has."""

SIZES, IDS, SERIALIZED = "sizes", "item_ids", "serialized"
DEFAULT, WITH_IDS, ELWC = "serving_default", "with_ids", "elwc"
SCORES = "scores"
SINGLE = "features"  # the input of a model that takes one tensor
