"""Rollouts: staged update runs, and placements whose change is on its way.

Names are those of cluster-scoped ones, or `namespace/name`.
"""

from roadstead.calls.bodies import body_of
from roadstead.models.record import Json
from roadstead.models.rollouts import Rollout
from roadstead.paths import either
from roadstead.steps import Request, Steps, items, one


def rollouts() -> Steps[list[Rollout]]:
    """Runs and placements that roll out now, then the newest runs that are over."""
    return items(Request("GET", "/v1/rollouts"), Rollout)


def rollout(name: str) -> Steps[Rollout]:
    """One run with its stages, else the placement of that name. Raises NotFound."""
    return one(Request("GET", f"/v1/rollouts/{either(name)}"), Rollout)


def approve_rollout(name: str, *, stage: str = "", when: str = "") -> Steps[Rollout]:
    """Approve what a run waits for; `stage` and `when` ("before", "after") where several requests stand.

    Raises NotFound, Rejected (InvalidState) where nothing waits.
    """
    given = {"stage": stage, "when": when}
    return _act(name, "approve", {key: value for key, value in given.items() if value})


def stop_rollout(name: str) -> Steps[Rollout]:
    """Begin no further cluster. Raises NotFound, Rejected (InvalidState, OwnedElsewhere)."""
    return _act(name, "stop", None)


def resume_rollout(name: str) -> Steps[Rollout]:
    """Let a run begin, or go on. Raises NotFound, Rejected (InvalidState, OwnedElsewhere)."""
    return _act(name, "resume", None)


def roll_back_run(name: str, *, version: str = "") -> Steps[Rollout]:
    """Go back by a new run, which is answered: to `version`, else to what the run before brought.

    Raises NotFound, Rejected (InvalidState).
    """
    return _act(name, "rollback", {"version": version} if version else {})


def _act(name: str, verb: str, asked: Json | None) -> Steps[Rollout]:
    body = None if asked is None else body_of(asked)
    return one(Request("POST", f"/v1/rollouts/{either(name)}/{verb}", body=body), Rollout)
