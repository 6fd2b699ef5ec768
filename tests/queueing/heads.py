"""Heads of one round as the engine nominates them, one queue each, before they are ordered."""

from typing import Any

from hub.domain.cycle.attempt import Attempt
from hub.offline import documents, scene
from hub.offline.cycle import engine_of
from hub.offline.settings import settings_of
from tests.queueing import scenes


def nominated(heads: dict[str, tuple[Any, int, float, Any]], timestamp: str) -> list[Attempt]:
    """Heads in queues of ten, in two cohorts of five and four below one root of 200 more."""
    listed = [
        scenes.a_flavor(),
        scenes.a_cohort("root", 200),
        scenes.a_cohort("left", parent="root"),
        scenes.a_cohort("right", parent="root"),
    ]
    for number, (name, (amount, prio, age, conditions)) in enumerate(heads.items()):
        listed += scenes.a_queue(name, 10, "left" if number % 2 else "right")
        listed.append(
            scenes.a_workload(name, name, amount, prio=prio, age=age, conditions=conditions)
        )
    read = [documents.read_document("scene", n, m) for n, m in enumerate(listed, start=1)]
    settings = settings_of({"waitForPodsReady": {"requeuingStrategy": {"timestamp": timestamp}}})
    engine = engine_of(scene.build(read, settings, documents.read_instant(scenes.stamp())))
    waiting = [turns.pop() for _, turns in sorted(engine.waiting.turns.items())]
    attempts, _ = engine.rounds.nominate([who for who in waiting if who])
    return attempts
