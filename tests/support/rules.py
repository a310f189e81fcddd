"""Rules that hold for every loss of lists, as `CONTRIBUTING.md` has them: what a failing shared test says."""

ORACLE = "Value and gradient are those of the oracle, in float64 and in every mode."
WEIGHTS = "Weights multiply the terms of the sum, and do not change its divisor: twice the weights, twice the loss."
PADDING = "Padding changes neither value nor gradient, NaN included: select with `tf.where` before the arithmetic."
ORDER = "The order of the items changes nothing, tied items included."
SIZES = (
    "Scores and temperatures of any size give finite results: divide by the temperature with "
    "`keras_softsort/ops/core/temperature.py`, and take `tf.math.softplus` and `tf.reduce_logsumexp`, not formulas."
)
EQUAL_SCORES = "Lists of equal scores have a finite loss, and a gradient."
NOT_FINITE = "A score or label that is not finite makes its own list NaN, and no other one."
AXES = "Leading axes are a batch: `[2, 3, n]` gives the results of `[6, n]`, and `[n]` those of `[1, n]`."
TEMPERATURE = "A temperature per list gives each list what it would have alone, and has a gradient."
DERIVATIVES = "Closed forms of derivatives, if there are any, take every argument of the operator."

ALL = [value for name, value in vars().items() if name.isupper()]
