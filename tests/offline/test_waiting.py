"""Who waits in a scene: equals are parked together, and wake together."""

from dataclasses import replace

from hub.offline.play.engine import Engine
from tests.offline.build import INSTANT, a_holder, a_queue, a_workload, engine_on


def _names(engine: Engine) -> list[str]:
    """Whose turn it is in a round."""
    return [attempt.who.name for attempt in engine.round(INSTANT)]


def test_what_is_refused_to_one_is_refused_to_its_equals() -> None:
    """Until something in the tree changes none of the class has a turn; then its first has."""
    engine = engine_on(
        a_queue("q", 4),
        a_holder("h", "q", 4),
        *(a_workload(name, "q", 4, age=age) for name, age in (("first", 9), ("second", 8))),
        a_workload("smaller", "q", 3, age=7),
    )
    assert [_names(engine) for _ in range(3)] == [["first"], ["smaller"], []]
    engine.waiting.wake("q")
    assert _names(engine) == ["first"]


def test_a_refusal_of_ones_own_parks_nobody_else() -> None:
    """Failed checks of one workload are none of its equals'."""
    failed = {"admissionChecks": [{"name": "budget", "state": "Retry"}]}
    engine = engine_on(
        a_queue("q", 4),
        a_workload("failed", "q", 4, age=9, status=failed),
        a_workload("other", "q", 4, age=8),
    )
    assert [_names(engine) for _ in range(3)] == [["failed"], ["other"], []]
    assert engine.waiting.count("q") == 1
    engine.waiting.wake("q")
    assert _names(engine) == ["failed"]


def test_who_was_admitted_goes_first_no_longer() -> None:
    """A nominee that is admitted and comes back stands where its priority puts it."""
    engine = engine_on(a_queue("q", 4), a_workload("nominee", "q", 4))
    nominee = engine.waiting.turns["q"].pop()
    assert nominee is not None
    urgent = replace(nominee, uid="urgent", name="urgent", priority=9, demand=None)
    engine.waiting.add([urgent, replace(nominee, nominated=True)])
    assert _names(engine) == ["nominee"]
    engine.quota_state.remove(engine.holder(nominee))
    engine.waiting.add([nominee])
    assert _names(engine) == ["urgent"]
