"""What methods about rollouts ask of the hub: method, arguments, request, body, answer."""

from typing import Any, Final

from roadstead.models.rollouts import Rollout

ROLLOUTS: Final[tuple[tuple[Any, ...], ...]] = (
    ("rollouts", (), {}, "GET /v1/rollouts", None, [Rollout]),
    ("rollout", ("n/r",), {}, "GET /v1/rollouts/n/r", None, Rollout),
    (
        "approve_rollout",
        ("r",),
        {"stage": "a", "when": "before"},
        "POST /v1/rollouts/r/approve",
        {"stage": "a", "when": "before"},
        Rollout,
    ),
    ("approve_rollout", ("r",), {}, "POST /v1/rollouts/r/approve", {}, Rollout),
    ("stop_rollout", ("n/r",), {}, "POST /v1/rollouts/n/r/stop", None, Rollout),
    ("resume_rollout", ("r",), {}, "POST /v1/rollouts/r/resume", None, Rollout),
    (
        "roll_back_run",
        ("r",),
        {"version": "3"},
        "POST /v1/rollouts/r/rollback",
        {"version": "3"},
        Rollout,
    ),
    ("roll_back_run", ("r",), {}, "POST /v1/rollouts/r/rollback", {}, Rollout),
)
