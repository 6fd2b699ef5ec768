"""Bursts of watch events: a tool writes Jobs and pods of a member many times, in one instant or for seconds.

It writes an annotation of its own, but each write is a new resourceVersion, an event for each watch, and a
conflict for whoever read the object before.
"""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tests.simulation.faults import Fault
    from tests.simulation.member import Member, Object
    from tests.simulation.scenario import Run

KIND: Final = "burst of events"
_AT_ONCE: Final = 60  # events of one object in one instant
_EVERY_S: Final = 0.15  # between the writes of a burst that lasts


def befall(run: "Run", fault: "Fault", until: float) -> None:
    """Many events in one instant, or some every moment until then."""
    member = run.members[fault.where]
    if fault.draw < 0.5:
        for _ in range(_AT_ONCE):
            _write_all(member)
    else:
        _go_on(run, member, until)


def _go_on(run: "Run", member: "Member", until: float) -> None:
    _write_all(member)
    if run.world.now + _EVERY_S < until and not run.mended:
        run.world.after(_EVERY_S * (0.2 + run.world.random.random()), _go_on, run, member, until)


def _write_all(member: "Member") -> None:
    for job in list(member.jobs.values()):
        member._stored("Job", "MODIFIED", _noted(job, member.version))
    for pod in list(member.pods.values()):
        member._stored("Pod", "MODIFIED", _noted(pod, member.version))


def _noted(obj: "Object", version: int) -> "Object":
    had = obj["metadata"]
    notes = {**(had.get("annotations") or {}), "tool.example/looked": str(version)}
    return {**obj, "metadata": {**had, "annotations": notes}}
