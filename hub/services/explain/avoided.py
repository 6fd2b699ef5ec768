"""Members that are avoided for one job: until when, and on whose words.

What equal jobs wait for is explained once for all of them; why one of them avoids a member is its own
history, so it is read from its events, which carry the member's words.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Final

from hub.domain.instants import stamp
from hub.domain.workloads.demand import FOR_GOOD, NAME_CONFLICT
from hub.domain.workloads.refusals import is_member
from hub.services.works.retries import RETRYING
from hub.store.records.history import StoredEvent
from hub.store.records.workloads import Workload
from shared.consent import NO_TOKEN, tokens_command
from shared.documents import Json

_NAMED: Final = 3  # members named in advice
_AGAIN: Final = "it is tried again after 30 s, then ever more seldom, at last every 5 minutes"


def until(row: Workload) -> dict[str, str | None]:
    """Member → until when; None: until a person releases the job."""
    found: dict[str, str | None] = {}
    for cluster, text in (row.set_aside or {}).items():
        if not is_member(cluster):
            continue
        at = dt.datetime.fromisoformat(text)
        found[cluster] = None if at == FOR_GOOD else stamp(at.replace(microsecond=0))
    return found


def because(row: Workload, newest_first: Sequence[StoredEvent]) -> dict[str, Json]:
    """Member → {"reason", "message"} of the job's newest event about it that says its own cause."""
    found: dict[str, Json] = {}
    avoided = frozenset(filter(is_member, row.set_aside or ()))
    for event in newest_first:
        if event.cluster in avoided and _tells_why(event):
            found.setdefault(event.cluster, {"reason": event.reason, "message": event.message})
    return found


def _tells_why(event: StoredEvent) -> bool:
    """Does the event say in the member's words why the job avoids it? A retry has the member's code."""
    return event.reason == event.cause or (event.reason == RETRYING and bool(event.cause))


def with_causes(waiting: Json, causes: Mapping[str, Json]) -> Json:
    """The verdicts of a class, as they are for one of its jobs: why each member is set aside."""
    verdicts = []
    for verdict in waiting.get("clusters") or ():
        cause = causes.get(verdict["cluster"])
        if cause is not None and verdict.get("reason") == "ClusterSetAside":
            said = cause["message"].removeprefix(f"{verdict['cluster']}: ")
            verdicts.append(verdict | {"message": f"{said} ({verdict['message']})"})
        else:
            verdicts.append(verdict)
    return waiting | {"clusters": verdicts}


def remedies(told: Json, found: Sequence[Json]) -> list[Json]:
    """Remedies of a job whose name is taken, or whose pods get no token: that an avoidance ends is none."""
    taken = _avoided_for(told, NAME_CONFLICT)
    tokens = _avoided_for(told, NO_TOKEN)
    left = [
        r for r in found if not (r["kind"] == "SetAside" and r.get("cluster") in {*taken, *tokens})
    ]
    said = [_of_taken(told, taken)] if taken else []
    said += [_of_tokens(told, tokens)] if tokens else []
    return [*({"kind": "Rule", "message": text} for text in said), *left]


def _avoided_for(told: Json, reason: str) -> list[str]:
    causes = told["setAsideBecause"]
    return sorted(name for name, cause in causes.items() if cause["reason"] == reason)


def _of_tokens(told: Json, members: Sequence[str]) -> str:
    space, name = told["namespace"], f"{told['namespace']}/{told['name']}"
    where = " or ".join(members[:_NAMED]) + (" or others" if len(members) > _NAMED else "")
    return (
        f"its pods ask for a token, which the people of {where} allow with a kubeconfig of that cluster, "
        f"not of the hub: {tokens_command(space)}. Then roadstead jobs release {name} tries at once; until "
        f"then {_AGAIN}"
    )


def _of_taken(told: Json, taken: Sequence[str]) -> str:
    name = f"{told['namespace']}/{told['name']}"
    where = ", ".join(taken)
    return (
        f"its name is taken in {where}: delete the Job {name} there, or submit this one under another "
        f"name. Then roadstead jobs release {name} tries at once; until then {_AGAIN}"
    )
