"""Rollouts: staged update runs, and placements that are rolling out.

Names are those of cluster-scoped ones, or `namespace/name`.
"""

from roadstead.calls.bodies import body_of
from roadstead.models.record import Json
from roadstead.models.rollouts import Rollout
from roadstead.paths import either
from roadstead.steps import Request, Steps, items, one


def rollouts() -> Steps[list[Rollout]]:
    """Runs and placements that are rolling out, then the newest finished runs."""
    return items(Request("GET", "/v1/rollouts"), Rollout)


def rollout(name: str) -> Steps[Rollout]:
    """One run with its stages, else the placement of that name. Raises NotFound."""
    return one(Request("GET", f"/v1/rollouts/{either(name)}"), Rollout)


def approve_rollout(name: str, *, stage: str = "", when: str = "") -> Steps[Rollout]:
    """Approve a run's open request; `stage` and `when` ("before", "after") choose one of several.

    Raises NotFound, Rejected (InvalidState) if there is none.
    """
    given = {"stage": stage, "when": when}
    return _act(name, "approve", {key: value for key, value in given.items() if value})


def stop_rollout(name: str) -> Steps[Rollout]:
    """Stop a run: no further cluster starts. Raises NotFound, Rejected (InvalidState, OwnedElsewhere)."""
    return _act(name, "stop", None)


def resume_rollout(name: str) -> Steps[Rollout]:
    """Start or resume a run. Raises NotFound, Rejected (InvalidState, OwnedElsewhere)."""
    return _act(name, "resume", None)


def roll_back_run(name: str, *, version: str = "") -> Steps[Rollout]:
    """Roll back with a new run, which is returned: to `version`, else to the previous run's version.

    Raises NotFound, Rejected (InvalidState).
    """
    return _act(name, "rollback", {"version": version} if version else {})


def _act(name: str, verb: str, asked: Json | None) -> Steps[Rollout]:
    body = None if asked is None else body_of(asked)
    return one(Request("POST", f"/v1/rollouts/{either(name)}/{verb}", body=body), Rollout)
