"""What administrators write is evaluated in a process of its own, which is stopped when it takes too long."""

import pytest

from shared.clock import ManualClock
from shared.workkinds.isolated import SHARED_S, SharedTime, isolated_jq
from shared.workkinds.jq_language import JqLanguage
from shared.workkinds.jq_worker import MOST_BYTES
from shared.workkinds.language import EvaluationFault, StoppedEvaluation
from tests.workkinds.build import (
    Json,
    a_karta,
    a_pod,
    a_swarm,
    an_extension,
    counts,
    read,
    read_all,
)

# A product of many: allowed by its syntax, and work for minutes.
ENDLESS = "[.spec.xs[] as $a | .spec.xs[] as $b | .spec.xs[] as $c | .spec.xs[] as $d | $a + $d] | length"
MANY = {"xs": list(range(200))}


@pytest.fixture(scope="module")
def bounded():
    with isolated_jq() as language:
        yield language


@pytest.mark.parametrize(
    "expression", [".a", ".b[]", ".b[] | . + 1", ".none", '.c["d e"]', "[.a, .b] | length"]
)
def test_it_gives_what_jq_gives(bounded, expression):
    """The same values and places as in this process."""
    obj = {"a": 1, "b": [1, 2.5], "c": {"d e": "ä"}}
    bounded.begin(obj)
    assert bounded.values(expression, obj) == JqLanguage().values(expression, obj)


def test_places_are_those_of_values(bounded):
    """Also of what is not there yet."""
    obj: Json = {"a": [{}, {}]}
    assert bounded.places(".a[].b.c", obj) == [("a", 0, "b", "c"), ("a", 1, "b", "c")]


def test_a_fault_is_told_in_jqs_words(bounded):
    """What is not there is told apart from what is wrong."""
    with pytest.raises(EvaluationFault) as nothing:
        bounded.values(".a[]", {})
    with pytest.raises(EvaluationFault) as wrong:
        bounded.values(".a.b", {"a": "text"})
    assert (nothing.value.nothing, wrong.value.nothing) == (True, False)


def test_what_takes_too_long_is_stopped_and_the_next_is_not(bounded):
    """The process ends; another one answers what comes after."""
    obj = {"spec": MANY}
    bounded.begin(obj)
    with pytest.raises(StoppedEvaluation, match="200 ms"):
        bounded.values(ENDLESS, obj)
    assert bounded.values(".spec.xs | length", obj) == [200]


def test_objects_of_one_request_share_their_time(bounded):
    """Later ones are not tried; the start of the process is not counted."""
    clock, obj = ManualClock(), {"a": 1}
    shared = SharedTime(bounded, clock)
    clock.advance(2 * SHARED_S)
    shared.begin(obj)
    clock.advance(SHARED_S / 2)
    assert shared.values(".a", obj) == [1]
    assert shared.places(".a", obj) == [("a",)]
    clock.advance(SHARED_S / 2)
    shared.begin({"a": 2})
    with pytest.raises(StoppedEvaluation, match=r"not tried: .* more than 2 s together"):
        shared.values(".a", {"a": 2})


def test_what_was_stopped_is_not_tried_again_in_the_request(bounded):
    """Not for another object either; other expressions are."""
    shared, small = SharedTime(bounded, ManualClock()), {"spec": {"xs": [1]}}
    shared.begin({"spec": MANY})
    with pytest.raises(StoppedEvaluation, match="200 ms"):
        shared.values(ENDLESS, {"spec": MANY})
    shared.begin(small)
    with pytest.raises(StoppedEvaluation, match="not tried again"):
        shared.values(ENDLESS, small)
    assert shared.values(".spec.xs | length", small) == [1]
    assert SharedTime(bounded, ManualClock()).values(ENDLESS, small) == [1]


def test_many_values_are_a_fault(bounded):
    """A thousand are enough for any object."""
    with pytest.raises(EvaluationFault, match="1000 values"):
        bounded.values(".xs[] as $a | .xs[] as $b | $a", {"xs": list(range(100))})


def test_large_values_are_a_fault(bounded):
    """An object many times over is no count and no pod spec."""
    obj = {"xs": list(range(900)), "text": "x" * 100_000}
    with pytest.raises((EvaluationFault, StoppedEvaluation)):
        bounded.values(".text as $t | .xs[] | $t", obj)


def test_memory_is_bounded(bounded):
    """A text repeated without end is a fault or the end of the process, not of the machine."""
    with pytest.raises((EvaluationFault, StoppedEvaluation)):
        bounded.values('"xxxxxxxx" * 1000000000', {})


def test_too_much_memory_is_told_apart_from_too_much_time(bounded):
    """A text that the limit has no room for: its author would look for a loop."""
    with pytest.raises(StoppedEvaluation, match="needed more than 1 GiB of memory") as stopped:
        bounded.values('"a" * 2000000000', {})
    assert "200 ms" not in str(stopped.value)
    assert MOST_BYTES == 1 << 30
    assert bounded.values(".a", {"a": 1}) == [1]


def test_an_object_that_takes_too_long_is_set_aside_and_says_why():
    """Only it: other objects of the kind are read."""
    by = [a_karta(scaleDefinition={"replicasPath": ENDLESS})]
    slow, fine = read_all([a_swarm(**MANY), a_swarm(xs=[1])], by)
    assert (slow.outcome, slow.pod_sets) == ("refused", ())
    assert "set aside" in slow.reason
    assert "200 ms" in slow.reason
    assert counts(fine) == {"swarm": 1}


def test_the_time_is_that_of_all_expressions_of_an_object():
    """Several that would each be allowed are too much together."""
    each = "[.spec.xs[] as $a | .spec.xs[] as $b | .spec.xs[] as $c | $a] | length"
    parts = [
        {
            "name": f"part{number}",
            "ownerRef": "swarm",
            "specDefinition": {"podTemplateSpecPath": ".spec.template"},
            "scaleDefinition": {"replicasPath": each},
        }
        for number in range(60)
    ]
    swarm = a_swarm(xs=list(range(40)))
    read_one = read(swarm, by=[a_karta(children=parts)])
    assert read_one.outcome == "refused"
    assert "set aside" in read_one.reason


def test_extensions_of_administrators_are_bounded_too():
    """A refusal rule that takes too long sets the object aside."""
    by = [a_karta(), an_extension(refuse=[{"when": f"({ENDLESS}) > 0", "message": "no"}])]
    assert "set aside" in read(a_swarm(**MANY), by=by).reason


def test_built_in_definitions_need_no_process():
    """An object of a built-in kind starts none."""
    with isolated_jq() as language:
        assert language._process is None
    assert counts(read(a_swarm(template=a_pod()), by=[a_karta()])) == {"swarm": 1}
