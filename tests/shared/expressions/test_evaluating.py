"""What an expression gives for an object: a value of its type or a fault, whatever it is given."""

from typing import Any

import pytest

from shared.expressions.expression import MOST_NODES, MOST_STEPS, NoValue, compiled

OBJECT: dict[str, Any] = {
    "kind": "Thing",
    "metadata": {"name": "x", "generation": 3, "labels": {"a": "b"}},
    "spec": {"replicas": 2, "names": ["a", "b"]},
    "status": {
        "phase": "Bound",
        "ratio": 0.5,
        "conditions": [
            {"type": "Issuing", "status": "False", "reason": "Done", "message": "m"},
            {"type": "Ready", "status": "True", "observedGeneration": 3},
            {"type": "Old", "status": "True", "observedGeneration": 2},
            {"type": "Plain", "status": "True"},
        ],
        "groups": [{"ready": 1, "pods": [{"ok": True}]}, {"ready": 2, "pods": []}],
    },
}
VALUES: list[tuple[str, Any]] = [
    ("has(object.status.phase)", True),
    ("has(object.status.nothing)", False),
    ("has(object.nothing) && has(object.nothing.more)", False),
    ("object.status.phase == 'Bound' && object.kind != \"Other\"", True),
    ("object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')", True),
    ("object.spec.replicas * 2 + 1", 5),
    ("object.spec.replicas < 2.5 && object.status.ratio < 1", True),
    ("double(object.spec.replicas) == 2.0", True),
    ("has(object.spec.other) ? object.spec.other : 7", 7),
    ("object.status.conditions.filter(c, c.status == 'True').map(c, c.type)[0]", "Ready"),
    ("'a' in object.metadata.labels && object.metadata['labels']['a'] == 'b'", True),
    ("object.status.groups.all(g, g.pods.all(p, p.ok))", True),
    ("sum(object.status.groups.map(g, g.ready))", 3),
    ("max(object.status.groups.map(g, g.ready)) - min(object.status.groups.map(g, g.ready))", 1),
    ("sum([]) + max([]) + min([])", 0),
    ("size(object.spec.names) + size('abc')", 5),
    ("object.metadata.name.startsWith('x') && !'a'.contains('b') && 'ab'.endsWith('b')", True),
    ("string(object.metadata.generation) + '/' + object.status.phase", "3/Bound"),
    ("timestamp('2026-01-01T00:00:00Z') < timestamp('2026-01-01T00:00:01Z')", True),
    ("cond('Ready')", True),
    ("cond('Issuing') || cond('Nothing')", False),
    ("cond('Old')", False),
    ("reason('Issuing') + reason('Nothing')", "Done"),
    ("cond('Plain') && object.status.phase == 'Bound'", True),
]


@pytest.mark.parametrize(("source", "value"), VALUES)
def test_an_expression_gives_its_value(source, value):
    """As CEL has it; numbers of unlike types compare, and a condition of an earlier generation is none."""
    wanted: type = type(value)
    assert compiled(source, wanted).evaluate(OBJECT).value == value


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("object.status.nothing == 1", "it has no field nothing"),
        ("object.nothing.more == 1", "it has no field more"),
        ("object.spec.replicas / 0 == 1", "division by zero"),
        ("object.spec.replicas + 9223372036854775807 == 1", "overflow"),
        ("object.kind + 1 == 'a'", "string + int"),
        ("object.kind", "it gives str, not bool"),
        ("sum(object.spec.names) == 1", "sum takes numbers"),
        ("sum([true]) == 1", "sum takes numbers"),
        ("max(object.kind) == 1", "max takes a list of numbers"),
        ("object.spec.names.all(n, n == 'a' && object.none)", "it has no field none"),
        ("timestamp('soon') == timestamp('later')", ""),
    ],
)
def test_what_has_no_value_is_a_fault(source, told):
    """Told in a sentence; a field that is not there by its name."""
    value = compiled(source).evaluate(OBJECT).value
    assert isinstance(value, NoValue)
    assert told.lower() in value.message.lower()


def test_a_missing_field_is_named():
    """It may come: whoever asks can tell that from what is wrong."""
    value = compiled("object.status.nothing == 1").evaluate(OBJECT).value
    assert isinstance(value, NoValue)
    assert value.missing == "nothing"


def test_the_last_condition_that_lacks_is_told():
    """With what it says; where it is not there, by its type. What is not asked any more is not told."""
    assert compiled("cond('Old') || cond('Issuing')").evaluate(OBJECT).lacking[0] == "Issuing"
    told = compiled("cond('Ready') && cond('Issuing') && cond('Nothing')").evaluate(OBJECT)
    assert told.lacking == ("Issuing", OBJECT["status"]["conditions"][0])
    assert compiled("cond('Nothing')").evaluate(OBJECT).lacking == ("Nothing", {})
    assert compiled("cond('Ready')").evaluate(OBJECT).lacking is None


@pytest.mark.parametrize(
    "obj",
    [
        {},
        {"status": None},
        {"status": []},
        {"status": {"conditions": {"type": "Ready"}}},
        {"status": {"conditions": ["Ready", None, 3]}},
        {"status": {"conditions": [{"type": ["Ready"], "status": "True"}]}},
        {"metadata": "x", "status": {"conditions": [{"type": "Other"}]}},
    ],
)
def test_conditions_of_any_shape_are_none(obj):
    """Anybody may have written them."""
    assert compiled("cond('Ready')").evaluate(obj).value is False


@pytest.mark.parametrize(
    "source",
    [
        "object.l.all(a, object.l.all(b, a + b >= 0))",
        "size(object.l.map(a, object.l)) > 0",
        "size(object.l.filter(a, a > 0)) > 0",
        "object.l.all(a, object.l == object.l)",
    ],
)
def test_what_would_take_long_is_not_begun(source):
    """Steps grow with the lists: told by the text and what it reads, before anything is evaluated."""
    expression = compiled(source)
    assert expression.evaluate({"l": [1, 2, 3]}).value is True
    value = expression.evaluate({"l": list(range(2000))}).value
    assert isinstance(value, NoValue)
    assert f"at most {MOST_STEPS:,}" in value.message


@pytest.mark.parametrize(
    "value",
    [
        list(range(MOST_NODES + 1)),
        "x" * 64 * (MOST_NODES + 1),
        {str(each): {"a": [1]} for each in range(MOST_NODES // 2)},
    ],
)
def test_what_is_too_large_is_not_read(value):
    """A list, a text or a tree; what the expression does not read may be as large as it likes."""
    told = compiled("has(object.l) && size(object.l) > 0").evaluate({"l": value}).value
    assert isinstance(told, NoValue)
    assert compiled("has(object.m)").evaluate({"l": value}).value is False


def test_what_lies_too_deep_is_not_read():
    """The library goes into it by its own stack."""
    deep: dict[str, object] = {}
    for _ in range(2000):
        deep = {"a": deep}
    assert isinstance(compiled("has(object.l)").evaluate({"l": deep}).value, NoValue)


@pytest.mark.parametrize("value", [2**70, float("nan"), "\ud800", {1: 2}, b"x", object()])
def test_a_value_of_no_json_is_no_end(value):
    """Whatever the library makes of it: a value, or a fault."""
    compiled("has(object.v) && object.v == 1").evaluate({"v": value})
