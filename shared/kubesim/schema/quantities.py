"""Quantities as the API server prints them back: canonical, in the suffix family they came in.

`0.5` becomes `500m`, `1024Mi` becomes `1Gi`, `2000M` becomes `2G` (apimachinery, resource.Quantity).
"""

import re
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache

_TEXT = re.compile(
    r"([+-]?(?:\d+\.?\d*|\.\d+))(?:(Ki|Mi|Gi|Ti|Pi|Ei)|([numkMGTPE])|[eE]([+-]?\d+))?"
)
_BINARY = {"": 0, "Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BY_POWER = {power: suffix for suffix, power in _DECIMAL.items()}
_SMALLEST = Decimal(1).scaleb(-9)


@lru_cache(maxsize=8192)
def canonical_text(text: str) -> str:
    """The canonical form. ValueError if `text` is no quantity."""
    match = _TEXT.fullmatch(text)
    if match is None or len(text) > 64:
        raise ValueError(f"unable to parse quantity's suffix: {text!r}")
    digits, binary, decimal, exponent = match.groups()
    value = Decimal(digits)
    if binary:
        value *= 1024 ** _BINARY[binary]
        if abs(value) >= 1024:
            return _binary(value.to_integral_value(ROUND_CEILING))
    elif decimal:
        value = value.scaleb(_DECIMAL[decimal])
    elif exponent is not None:
        value = value.scaleb(int(exponent)) if abs(int(exponent)) < 40 else Decimal(0)
    value = (value / _SMALLEST).to_integral_value(ROUND_CEILING) * _SMALLEST
    if exponent is not None:
        return _exponential(value)
    return _decimal(value)


def _split(value: Decimal) -> tuple[int, int]:
    """(mantissa, power of ten) with the largest power that is a multiple of three."""
    nanos, power = int(value.scaleb(9)), -9
    while nanos and nanos % 1000 == 0 and power < 18:
        nanos //= 1000
        power += 3
    return (nanos, power) if nanos else (0, 0)


def _decimal(value: Decimal) -> str:
    mantissa, power = _split(value)
    return f"{mantissa}{_BY_POWER[power]}"


def _exponential(value: Decimal) -> str:
    mantissa, power = _split(value)
    return f"{mantissa}e{power}" if power else str(mantissa)


def _binary(value: Decimal) -> str:
    number, steps = int(value), 0
    while number and number % 1024 == 0 and steps < 6:
        number //= 1024
        steps += 1
    return f"{number}{[*_BINARY][steps]}"
