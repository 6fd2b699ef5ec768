"""The first rung of a placement's ladder of conditions, and what a rung is. Pure."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

Status = Literal["True", "False", "Unknown"]


class Rung(NamedTuple):
    """One condition without its time."""

    type: str
    status: Status
    reason: str
    message: str


def scheduled(found: int, wanted: int | None, why: str = "") -> Rung:
    """The first rung from the number of clusters found; `wanted` None is as many as match."""
    if wanted is None or found >= wanted:
        text = (
            "found all cluster needed as specified by the scheduling policy, "
            f"found {found} cluster(s)"
        )
        return Rung("Scheduled", "True", "SchedulingPolicyFulfilled", text)
    text = (
        "could not find all clusters needed as specified by the scheduling policy, "
        f"found {found} cluster(s) instead of {wanted}"
    )
    if why:
        text = f"{text}: {why}"
    return Rung("Scheduled", "False", "SchedulingPolicyUnfulfilled", text)


def placed_by_queue(found: int, jobs: Sequence[str]) -> Rung:
    """The first rung where Jobs had their cluster before they were selected: no policy chose it."""
    few = ", ".join(jobs[:3]) + (f" and {len(jobs) - 3} more" if len(jobs) > 3 else "")
    text = (
        f"found {found} cluster(s); Job(s) {few} went where their queue's profile put them, before "
        "this placement selected them: its policy did not choose"
    )
    return Rung("Scheduled", "True", "PlacedByQueue", text)


def unscheduled(reason: str, message: str) -> Rung:
    """The first rung of a placement that can not be carried out as it is written."""
    return Rung("Scheduled", "False", reason, message)
