"""Fields of an object by JSON pointer: read, written in a copy, written as a patch."""

import pytest

from agent.objects.field_values import patch_of, written
from shared.pointers import value_at
from shared.wire.kind_rules import FieldValue


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("/spec/suspend", True),
        ("/spec/steps/1/name", "b"),
        ("/metadata/annotations/a~1b", "c"),
        ("/spec/none/at/all", None),
        ("/spec/steps/7", None),
        ("/spec/suspend/deeper", None),
    ],
)
def test_a_pointer_finds_a_value_or_none(pointer, value):
    """`~1` is a slash; what is not there is None."""
    obj = {
        "metadata": {"annotations": {"a/b": "c"}},
        "spec": {"suspend": True, "steps": [{"name": "a"}, {"name": "b"}]},
    }
    assert value_at(obj, pointer) == value


def test_a_copy_is_written_and_the_object_stays():
    """Objects on the way are made, and None takes a field away."""
    obj = {"spec": {"keep": 1, "gone": 2}}
    fields = [
        FieldValue(path="/spec/runPolicy/suspend", value=True),
        FieldValue(path="/spec/gone"),
    ]
    assert written(obj, fields) == {"spec": {"keep": 1, "runPolicy": {"suspend": True}}}
    assert obj == {"spec": {"keep": 1, "gone": 2}}


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("/spec/none/at", None),
        ("/spec/steps/7", 1),
        ("/spec/steps/0", None),
        ("/spec/keep/deeper", 1),
    ],
)
def test_a_pointer_that_leads_nowhere_changes_nothing(pointer, value):
    """Nothing is made on the way to a field that is removed, and lists keep their items."""
    obj = {"spec": {"keep": 1, "steps": ["a"]}}
    assert written(obj, [FieldValue(path=pointer, value=value)]) == obj


def test_a_patch_writes_the_field_alone():
    """Its neighbours are not named."""
    live = {"spec": {"runPolicy": {"suspend": True, "ttl": 3}}}
    fields = [FieldValue(path="/spec/runPolicy/suspend", value=False)]
    assert patch_of(live, fields) == ({"spec": {"runPolicy": {"suspend": False}}}, False)


def test_a_patch_below_a_list_replaces_the_list_and_says_so():
    """A merge patch knows no items: who sends it names the version that it was made from."""
    live = {"spec": {"steps": [{"name": "a", "hold": True}, {"name": "b"}]}}
    fields = [FieldValue(path="/spec/steps/0/hold", value=False)]
    steps = [{"name": "a", "hold": False}, {"name": "b"}]
    assert patch_of(live, fields) == ({"spec": {"steps": steps}}, True)
