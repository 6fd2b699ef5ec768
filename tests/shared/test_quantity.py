"""Quantities: the grammar, the rounding, the bounds and the printing, held against a slow model."""

import re
from fractions import Fraction

import pytest
from hypothesis import example, given, strategies as st

from shared import quantity
from shared.errors import Rejected

READ = {
    ("cpu", "1"): 1000,
    ("cpu", "500m"): 500,
    ("cpu", "1.5"): 1500,
    ("cpu", ".5"): 500,
    ("cpu", "1."): 1000,
    ("cpu", "0.0001"): 1,
    ("cpu", "100u"): 1,
    ("cpu", "1n"): 1,
    ("cpu", "+2"): 2000,
    ("cpu", "-0"): 0,
    ("cpu", "1e-400000"): 1,
    ("cpu", "0e400000"): 0,
    ("cpu", "9223372036854775807m"): quantity.MAX,
    ("cpu", 2): 2000,
    ("cpu", 1.5): 1500,
    ("cpu", 0.1): 100,
    ("memory", "1Ki"): 1024,
    ("memory", "2Gi"): 2 * 1024**3,
    ("memory", "1.5Gi"): 3 * 1024**3 // 2,
    ("memory", "0.1Ki"): 103,
    ("memory", "1k"): 1000,
    ("memory", "1E"): 10**18,
    ("memory", "1E3"): 1000,
    ("memory", "1e3"): 1000,
    ("memory", "1e+3"): 1000,
    ("memory", "128974848000m"): 128974848,
    ("memory", " 1Gi "): 1024**3,
    ("memory", 1e9): 10**9,
    ("memory", "7Ei"): 7 * 2**60,
    ("nvidia.com/gpu", "16"): 16,
    ("nvidia.com/gpu", 16): 16,
}


@pytest.mark.parametrize(("case", "amount"), READ.items())
def test_every_form_of_the_grammar_is_read_exactly(case, amount):
    """A quantity is read into whole milli-cores or base units, rounded up."""
    assert quantity.parse(*case) == amount


@pytest.mark.parametrize(
    "text",
    ["abc", "1 Gi", "1mi", "0x10", "", "1e", "1Kii", "1K", "1e3Ki", "--1", "+", ".", "Ki", "1_0",
     "NaN", "Infinity", "1,5", "١", "1\x00", "1" * 300, True, float("nan"), float("inf"), None],
)  # fmt: skip
def test_anything_outside_the_grammar_is_invalid(text):
    """What the grammar does not have is InvalidQuantity."""
    with pytest.raises(Rejected) as refusal:
        quantity.parse("cpu", text, "spec.x")
    assert refusal.value.code == "InvalidQuantity"
    assert refusal.value.errors[0].field == "spec.x"


@pytest.mark.parametrize("text", ["-1", "-5Gi", "-1n", "-0.5", -1, -0.5])
def test_negative_amounts_have_their_own_code(text):
    """An amount below zero is NegativeQuantity."""
    with pytest.raises(Rejected) as refusal:
        quantity.parse("memory", text)
    assert refusal.value.code == "NegativeQuantity"


@pytest.mark.parametrize(
    ("resource", "text"),
    [("cpu", "9223372036854775807"), ("cpu", "9223372036854775808m"), ("cpu", "1e30"),
     ("cpu", "9E"), ("memory", "9223372036854775808"), ("memory", "8Ei"), ("memory", "1e400000"),
     ("memory", 10**80), ("memory", 1e300)],
)  # fmt: skip
def test_amounts_beyond_63_bits_are_refused(resource, text):
    """An amount is bounded in the unit that is kept: milli-cores for CPU, base units otherwise."""
    with pytest.raises(Rejected) as refusal:
        quantity.parse(resource, text)
    assert refusal.value.code == "QuantityTooLarge"


SUFFIXES = {"": Fraction(1), "n": Fraction(1, 10**9), "u": Fraction(1, 10**6)}
SUFFIXES |= {"m": Fraction(1, 1000)}
SUFFIXES |= {s: Fraction(1000) ** (i + 1) for i, s in enumerate("kMGTPE")}
SUFFIXES |= {s + "i": Fraction(1024) ** (i + 1) for i, s in enumerate("KMGTPE")}


def modelled(resource, text):
    """The slow model: exact fractions, rounded up to the nano, then to the unit."""
    digits, suffix = re.fullmatch(r"([+0-9.]+)(.*)", text).groups()
    exponent = re.fullmatch(r"[eE]([+-]?[0-9]+)", suffix)
    factor = Fraction(10) ** int(exponent[1]) if exponent else SUFFIXES[suffix]
    whole, _, fraction = digits.lstrip("+").partition(".")
    value = Fraction(int((whole + fraction) or "0"), 10 ** len(fraction)) * factor
    unit = 1000 if resource == "cpu" else 1
    return -(-(value * unit).numerator // (value * unit).denominator)


digits = st.one_of(
    st.integers(0, 10**20).map(str),
    st.tuples(st.integers(0, 10**9), st.integers(0, 10**12)).map(lambda p: f"{p[0]}.{p[1]}"),
    st.integers(0, 10**6).map(lambda n: f".{n}"),
)
endings = st.one_of(st.sampled_from(list(SUFFIXES)), st.integers(-30, 30).map(lambda n: f"e{n}"))


@given(st.sampled_from(["cpu", "memory"]), digits, endings)
@example("memory", "0.1", "n")
def test_reading_agrees_with_exact_fractions(resource, number, ending):
    """Whatever the digits and suffix, the amount is the exact value rounded up, or too large."""
    expected = modelled(resource, number + ending)
    if expected <= quantity.MAX:
        assert quantity.parse(resource, number + ending) == expected
    else:
        with pytest.raises(Rejected, match="QuantityTooLarge"):
            quantity.parse(resource, number + ending)


@given(st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]), st.integers(0, quantity.MAX))
def test_printing_and_reading_are_inverse(resource, amount):
    """The canonical form of an amount reads back as that amount."""
    assert quantity.parse(resource, quantity.canonical(resource, amount)) == amount


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [("cpu", 1500, "1500m"), ("cpu", 2000, "2"), ("cpu", 0, "0"), ("cpu", 10**6, "1k"),
     ("cpu", 1, "1m"), ("memory", 2 * 1024**3, "2Gi"), ("memory", 1536 * 1024**2, "1536Mi"),
     ("memory", 1000, "1k"), ("memory", 1023, "1023"), ("memory", 2 * 10**9, "2G"),
     ("memory", 1025, "1025"), ("nvidia.com/gpu", 16, "16"), ("nvidia.com/gpu", 2048, "2048"),
     ("memory", -(1024**3), "-1Gi")],
)  # fmt: skip
def test_canonical_form(resource, amount, text):
    """No fraction, and the largest suffix that allows it."""
    assert quantity.canonical(resource, amount) == text


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [("1", "1000m", True), ("1Gi", "1024Mi", True), (1, "1", True), ("1.0", 1, True),
     ("0.5n", "1n", False), ("1", "2", False), ("abc", "abc", True), ("abc", "1", False),
     (True, 1, False), ("-1", "-1000m", True), (None, None, True), ({"a": 1}, "1", False)],
)  # fmt: skip
def test_equality_looks_at_the_value(a, b, same):
    """Two texts are equal when they mean the same quantity."""
    assert quantity.equal(a, b) is same
    assert quantity.equal(b, a) is same


@given(st.integers(), st.integers())
def test_arithmetic_saturates(a, b):
    """Sums, differences and products stay within a signed 64-bit integer."""
    for got, exact in [
        (quantity.add(a, b), a + b),
        (quantity.sub(a, b), a - b),
        (quantity.mul(a, b), a * b),
    ]:
        assert got == max(quantity.MIN, min(quantity.MAX, exact))
