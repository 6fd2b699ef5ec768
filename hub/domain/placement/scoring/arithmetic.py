"""KubeFleet's score of one preference, exactly (docs/explain/placement.md#scores-of-a-placement-by-example).

    s = 0                                     the label selector does not match, or no property
    s = weight                                it matches and there is no sorter
    s = 0                                     min == max
    s = R((v - min) / (max - min) · weight)         Descending: larger is better
    s = R((1 - (v - min) / (max - min)) · weight)   Ascending: smaller is better

R rounds half away from zero, per term, before summing; v is the float64 of the quantity; min and max
are over members that expose the property: in KubeFleet over all, also those that may not be picked.
"""

import math

import numpy as np

from hub.domain.fleet.clusters import BoolArray, FloatArray, IntArray


def round_half_away(values: FloatArray) -> IntArray:
    """Go's math.Round: half away from zero, and 0.49999999999999994 is 0."""
    whole = np.trunc(values)
    beyond = np.abs(values - whole) >= 0.5
    return np.asarray((whole + np.where(beyond, np.copysign(1.0, values), 0.0)).astype(np.int64))


def round_one(value: float) -> int:
    """`round_half_away` of one number."""
    whole = math.trunc(value)
    return whole + (int(math.copysign(1.0, value)) if abs(value - whole) >= 0.5 else 0)


def constant_scores(weight: int, matches: BoolArray | None, count: int) -> IntArray:
    """A preference without sorter: the weight where it matches."""
    if matches is None:
        return np.full(count, weight, dtype=np.int64)
    return np.where(matches, np.int64(weight), np.int64(0))


def sorted_scores(
    weight: int, values: FloatArray, low: float, high: float, *, ascending: bool
) -> IntArray:
    """A sorter's scores; NaN is a missing property and scores 0."""
    if not low < high:  # also where nothing is known: both NaN
        return np.zeros(len(values), dtype=np.int64)
    share = (values - low) / (high - low)
    if ascending:
        share = 1 - share
    share *= weight
    np.nan_to_num(share, copy=False, nan=0.0)
    return round_half_away(share)


def sorted_score(weight: int, value: float, low: float, high: float, *, ascending: bool) -> int:
    """`sorted_scores` of one cluster."""
    if not low < high or math.isnan(value):
        return 0
    share = (value - low) / (high - low)
    return round_one(((1 - share) if ascending else share) * weight)


def known_range(values: FloatArray) -> tuple[float, float]:
    """Least and largest of the known values; both NaN where none is known."""
    known = values[~np.isnan(values)]
    if not len(known):
        return math.nan, math.nan
    return float(known.min()), float(known.max())
