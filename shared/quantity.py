"""Kubernetes quantities as exact bounded integers, never floats.

Everything that counts in Roadstead counts whole numbers: CPU in milli-cores, any other resource in
its base unit (bytes, devices, pods), both rounded up as Kubernetes rounds. This module reads and
writes the texts; `shared.resources` adds them up. The grammar is that of apimachinery's
`resource.Quantity`: sign, digits with an optional point, then one of n u m k M G T P E, Ki … Ei, or
a decimal exponent.
"""

import functools
import json
import re
from decimal import Context, Decimal
from typing import Final

from shared.errors import Rejected
from shared.reject_codes import RejectCode

MAX: Final = 2**63 - 1
MIN: Final = -(2**63)

NANO: Final = 10**9  # nanos in one unit: the finest step that Kubernetes keeps
_NANOS_PER_MILLI: Final = 10**6
_LONGEST_TEXT: Final = 256
# Beyond these powers of ten nothing fits in 63 bits, or everything is below one nano.
_LARGEST_POWER: Final = 40
_SMALLEST_POWER: Final = -40

_GRAMMAR: Final = re.compile(
    r"([+-]?)(?:([0-9]+)\.?([0-9]*)|\.([0-9]+))(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?[0-9]+)?"
)
_MILLI_OR_BINARY: Final = re.compile(r"(\d+)(m|Ki|Mi|Gi)")
_LARGER: Final = {"Ki": "Mi", "Mi": "Gi"}
_POWERS_OF_TEN: Final = {
    "n": -9,
    "u": -6,
    "m": -3,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
_BINARY: Final = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
_BYTE_RESOURCES: Final = frozenset(
    {"memory", "storage", "ephemeral-storage", "limits.memory", "requests.memory"}
)
_EXACT: Final = Context(prec=2 * _LONGEST_TEXT)

Text = str | int | float


def parse(resource: str, text: Text, field: str = "") -> int:
    """Read `text` as an amount of `resource`: milli-cores for `cpu`, else base units, rounded up.

    A JSON number is read by its digits, as Kubernetes reads it. Raises `Rejected` with
    `InvalidQuantity`, `NegativeQuantity` or `QuantityTooLarge` (above 2**63 - 1 in the unit
    returned, so a CPU amount is bounded as milli-cores); `field` is passed on for the report.
    """
    return from_nanos(resource, nanos(text, field), field, text)


def parse_limit(resource: str, text: Text, field: str = "") -> int:
    """As `parse`, for quotas and limits: CPU beyond 2**63 - 1 milli-cores is MAX, which means unlimited."""
    unit = _NANOS_PER_MILLI if resource == "cpu" else NANO
    return min(MAX, -(-nanos(text, field) // unit))


def nanos(text: Text, field: str = "") -> int:
    """Read `text` as billionths of the base unit, rounded up to a whole one; never negative.

    Sums are made of these, so that rounding to milli-cores or bytes happens once, on the total,
    as it does in Kubernetes. Raises as `parse` does, the bound being 2**63 - 1 base units.
    """
    try:
        return _nanos(_as_text(text))
    except _NotReadError as cause:
        raise Rejected(cause.code, f"{shown(text)}: {cause}", field) from None


def from_nanos(resource: str, amount: int, field: str = "", text: Text = "") -> int:
    """Turn a sum of `nanos` into the unit of `resource`, rounded up and checked against MAX."""
    unit = _NANOS_PER_MILLI if resource == "cpu" else NANO
    whole = -(-amount // unit)
    if whole > MAX:
        what = shown(text) if text != "" else f"{resource} in total"
        raise Rejected(
            RejectCode.QUANTITY_TOO_LARGE,
            f"{what}: more than 2^63-1 {_unit_name(resource)}",
            field,
        )
    return whole


def number(text: Text) -> Decimal:
    """The exact value of a quantity of either sign, as cluster properties may have.

    Raises `Rejected` with `InvalidQuantity`, or `QuantityTooLarge` beyond 10**40.
    """
    try:
        sign, coefficient, power, factor = _split(_as_text(text))
    except _NotReadError as cause:
        raise Rejected(cause.code, f"{shown(text)}: {cause}") from None
    if coefficient and _leading_power(coefficient, power) > _LARGEST_POWER:
        raise Rejected(RejectCode.QUANTITY_TOO_LARGE, f"{shown(text)}: beyond 10^{_LARGEST_POWER}")
    power = max(power, -_LONGEST_TEXT)
    return _EXACT.scaleb(Decimal(sign * coefficient * factor), power)


def canonical(resource: str, amount: int) -> str:
    """Print an amount (in `parse`'s unit) in Kubernetes' canonical form: `1500m`, `2Gi`, `16`.

    Canonical: no fraction, and the largest suffix that allows it. Bytes are written with binary
    suffixes unless the decimal form is shorter (`2G`, not `1953125Ki`).
    """
    if resource == "cpu":
        return _decimal(amount, -3)
    plain = _decimal(amount, 0)
    if not _counts_bytes(resource) or abs(amount) < 1024:
        return plain
    binary = _with_binary_suffix(amount)
    return plain if len(plain) < len(binary) else binary


def readable(amount: str) -> str:
    """`127800m` as `127.8` and `261888Mi` as `255.8Gi`, so that two amounts side by side are read alike."""
    found = _MILLI_OR_BINARY.fullmatch(amount)
    if found is None:
        return amount
    number, unit = float(found[1]), found[2]
    if unit == "m":
        return f"{number / 1000:.15g}"
    while number >= 1024 and unit in _LARGER:
        number, unit = number / 1024, _LARGER[unit]
    return amount if unit == found[2] else f"{number:.1f}".removesuffix(".0") + unit


def equal(a: object, b: object) -> bool:
    """True if two texts mean the same quantity (`1` and `1000m`); others compare literally."""
    if a == b and type(a) is type(b):
        return True
    if not isinstance(a, str | int | float) or not isinstance(b, str | int | float):
        return a == b
    try:
        return number(a) == number(b)
    except Rejected:
        return a == b and isinstance(a, bool) == isinstance(b, bool)


def add(a: int, b: int) -> int:
    """The sum, held within 64 bits."""
    return clamp(a + b)


def sub(a: int, b: int) -> int:
    """The difference, held within 64 bits."""
    return clamp(a - b)


def mul(a: int, b: int) -> int:
    """The product, held within 64 bits."""
    return clamp(a * b)


def clamp(amount: int) -> int:
    """The nearest number that a signed 64-bit integer holds."""
    return MIN if amount < MIN else min(amount, MAX)


def _as_json(value: object) -> str:
    """What is no text, in the words of the file it came from: true, null."""
    try:
        return json.dumps(value)
    except (TypeError, ValueError):
        return repr(value)


def shown(text: object) -> str:
    """A text as an error message quotes it: bounded, and with control characters spelled out."""
    quoted = repr(text) if isinstance(text, str) else _as_json(text)
    return quoted if len(quoted) <= 60 else f"{quoted[:57]}…"


class _NotReadError(Exception):
    """The reason why a text is no quantity; becomes `Rejected` once the field is known."""

    def __init__(self, code: RejectCode, detail: str) -> None:
        super().__init__(detail)
        self.code = code


def _as_text(text: Text) -> str:
    if isinstance(text, str):
        # The API server trims the text between the quotes before it parses.
        return text.strip(" \t\r\n") if text[:1].isspace() or text[-1:].isspace() else text
    if isinstance(text, bool) or not isinstance(text, int | float):
        raise _NotReadError(RejectCode.INVALID_QUANTITY, "a quantity is a string or a number")
    return repr(text) if isinstance(text, float) or abs(text) < 10**60 else "1e60"


@functools.lru_cache(maxsize=8192)
def _nanos(text: str) -> int:
    sign, coefficient, power, factor = _split(text)
    if coefficient == 0:
        return 0
    if sign < 0:
        raise _NotReadError(RejectCode.NEGATIVE_QUANTITY, "must not be negative")
    leading = _leading_power(coefficient, power)
    if leading > _LARGEST_POWER:
        raise _NotReadError(RejectCode.QUANTITY_TOO_LARGE, "more than 2^63-1")
    if leading < _SMALLEST_POWER:
        return 1
    numerator = coefficient * factor * int(10 ** max(0, power + 9))
    exact = -(-numerator // int(10 ** max(0, -power - 9)))
    if exact > MAX * NANO:
        raise _NotReadError(RejectCode.QUANTITY_TOO_LARGE, "more than 2^63-1")
    return exact


def _split(text: str) -> tuple[int, int, int, int]:
    """Take a text apart: value = sign × coefficient × factor × 10 ** power."""
    match = _GRAMMAR.fullmatch(text) if len(text) <= _LONGEST_TEXT else None
    if match is None:
        raise _NotReadError(
            RejectCode.INVALID_QUANTITY,
            "not a quantity; digits with an optional suffix are, as in 500m, 1.5, 2Gi or 1e3",
        )
    minus, whole, fraction, only_fraction, suffix = match.groups()
    fraction = only_fraction or fraction or ""
    coefficient = int((whole or "") + fraction)
    power, factor = -len(fraction), 1
    if suffix in _BINARY:
        factor = _BINARY[suffix]
    elif suffix in _POWERS_OF_TEN:
        power += _POWERS_OF_TEN[suffix]
    elif suffix:
        power += int(suffix[1:])
    return (-1 if minus == "-" else 1), coefficient, power, factor


def _leading_power(coefficient: int, power: int) -> int:
    return len(str(coefficient)) - 1 + power


def _unit_name(resource: str) -> str:
    if resource == "cpu":
        return "milli-cores"
    return "bytes" if _counts_bytes(resource) else "units"


def _counts_bytes(resource: str) -> bool:
    return resource in _BYTE_RESOURCES or resource.startswith("hugepages-")


def _decimal(amount: int, power: int) -> str:
    if amount == 0:
        return "0"
    while power < 18 and amount % 1000 == 0:
        amount //= 1000
        power += 3
    return (
        f"{amount}{ {-3: 'm', 0: '', 3: 'k', 6: 'M', 9: 'G', 12: 'T', 15: 'P', 18: 'E'}[power] }"
    )


def _with_binary_suffix(amount: int) -> str:
    suffix = ""
    for candidate in _BINARY:
        if amount % 1024:
            break
        amount //= 1024
        suffix = candidate
    return f"{amount}{suffix}"
