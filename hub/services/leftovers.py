"""Jobs that another incarnation of the hub gave to a member, and that this store does not know.

They may be what a restored store has forgotten, so they are left alone (docs/explain/exactly-once.md,
rule 9), and shown: as an event, with their cluster, and on the live page. The agent tells of each; its
full set says which are gone. `Observed` names no object, so the agent's words do.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from hub.store import clusters, settings
from hub.store.unit import Unit
from shared.wire.agent_v1 import Observed

FOUND: Final = "LeftoversFound"
MOST: Final = 500  # of one cluster that are listed
_NAMED: Final = 5  # in an event
_PREFIX: Final = "leftovers:"

Row = dict[str, Any]


def note(unit: Unit, cluster: str, found: Sequence[Observed], *, whole: bool) -> None:
    """Take in what a member still holds. `whole`: what is not among `found` is gone, as far as is known."""
    known = {row["uid"]: row for row in of(unit, cluster)}
    told = {} if whole else dict(known)
    for entry in found:
        since = known.get(entry.uid, {}).get("foundAt") or unit.now.isoformat()
        told[entry.uid] = {
            "uid": entry.uid,
            "objectUid": entry.object_uid,
            "incarnation": entry.incarnation,
            "message": entry.message[:512],
            "foundAt": since.replace("+00:00", "Z"),
        }
    if told == known:
        return
    kept = list(told.values())[:MOST]
    if kept:
        settings.put(unit, _PREFIX + cluster, kept)
    else:
        settings.remove(unit, _PREFIX + cluster)
    fresh = [row for row in kept if row["uid"] not in known]
    if fresh:
        _announce(unit, cluster, fresh)


def of(unit: Unit, cluster: str) -> list[Row]:
    """Those of one member: {"uid", "objectUid", "incarnation", "message", "foundAt"}."""
    return list(settings.get(unit, _PREFIX + cluster) or ())


def counts(unit: Unit) -> Mapping[str, int]:
    """How many each member holds, where it holds any."""
    found = settings.with_prefix(unit, _PREFIX)
    return {name.removeprefix(_PREFIX): len(rows) for name, rows in found.items()}


def forget(unit: Unit, cluster: str) -> None:
    """The member is no member any more."""
    if of(unit, cluster):
        settings.remove(unit, _PREFIX + cluster)


def said(cluster: str, count: int) -> str:
    """One sentence about a member that holds some."""
    jobs = "1 Job" if count == 1 else f"{count} Jobs"
    return (
        f"{cluster} holds {jobs} of another incarnation of this hub, left alone: "
        f"roadstead clusters show {cluster} names them"
    )


def _announce(unit: Unit, cluster: str, fresh: Sequence[Row]) -> None:
    row = clusters.get(unit, cluster)
    words = "; ".join(each["message"] or each["uid"] for each in fresh[:_NAMED])
    more = f" and {len(fresh) - _NAMED} more" if len(fresh) > _NAMED else ""
    unit.event(
        uid=row["object"] if row is not None else cluster,
        kind="MemberCluster",
        namespace="",
        name=cluster,
        type="Warning",
        reason=FOUND,
        message=f"{said(cluster, len(fresh))} ({words}{more})"[:1024],
    )
