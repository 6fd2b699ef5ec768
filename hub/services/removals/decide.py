"""An administrator's decision about objects that the hub has no work for: removed, or abandoned.

Each becomes a work of the member that names the one object by its uid, without a placement. From then on it
goes like anything that is withdrawn or abandoned: the work is durable, its agent carries it out when it is
back, whichever hub leads, and reports `Gone` on evidence. A later object in the same place is left alone.
"""

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from hub.domain.rollout.removal import Fate, MemberObject, ObjectFate, fates_of
from hub.domain.workloads.apply_options import ApplyOptions
from hub.services.leftovers import left_objects
from hub.services.leftovers.left_objects import ACTIONS, REMOVE
from hub.services.placements.abandon import too_old
from hub.services.removals import before
from hub.store import audit, works
from hub.store.records.works import WantedWork
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.errors import Rejected
from shared.reject_codes import RejectCode
from shared.wire.versions import OBJECT_UIDS

AT_ONCE: Final = 500  # objects of one decision
Deciding = Literal["Remove", "Abandon"]
_ABANDONED: Final = "an administrator abandons it"


class Chosen(NamedTuple):
    """Selects objects: those that match every field that is not empty."""

    object_uid: str = ""
    cluster: str = ""
    namespace: str = ""
    placement: str = ""  # kind and name

    def is_meant(self, row: Json) -> bool:
        wanted = {
            "objectUid": self.object_uid,
            "cluster": self.cluster,
            "namespace": self.namespace,
            "placedBy": self.placement,
        }
        return all(row[name] == value for name, value in wanted.items() if value)


def decide(
    tx: Transaction, decision: Deciding, chosen: Chosen, principal: str, *, dry_run: bool
) -> Json:
    """Have members remove or abandon objects, or (`dry_run`) list what that would do; what has the fate.

    At most `AT_ONCE` of them; `more`: there are others, or a member reported more than the hub lists. An
    object with the same decision is not changed. Of several objects of one work the one that was reported
    last is decided about: a work names one object, and the others wait until it is gone.
    Raises Rejected: Required, where nothing is named; NotFound, where no such object is listed;
    InvalidState, where the agents of all of them are too old.
    """
    if not any(chosen):
        text = "name an object (objectUid), a cluster, a namespace or a placement"
        raise Rejected(RejectCode.REQUIRED, text, "objectUid")
    meant = [row for row in left_objects.list_left(tx) if chosen.is_meant(row)]
    if not meant:
        text = "no such object is listed: roadstead restored lists those that agents report"
        raise Rejected(RejectCode.NOT_FOUND, text)
    old = too_old(tx, sorted({row["cluster"] for row in meant}), OBJECT_UIDS)
    able = [row for row in meant if row["cluster"] not in old]
    if not able:
        raise Rejected(RejectCode.INVALID_STATE, "; ".join(map(_why_not, sorted(old.items()))))
    one_each = _one_of_each_work(tx, able)
    if not one_each:
        text = "another object of the same work is decided about: decide again once that is gone"
        raise Rejected(RejectCode.INVALID_STATE, text)
    now = one_each[:AT_ONCE]
    beyond = not chosen.object_uid and left_objects.has_more(tx, chosen.cluster)
    if not dry_run:
        _carry_out(tx, decision, [row for row in now if row["decided"] != decision], principal)
    return {
        "decision": decision,
        "carriedOut": not dry_run,
        "count": len(now),
        "more": len(able) > len(now) or beyond,
        "members": before.told(_fates(now, decision)),
        "refused": [{"cluster": name, "message": _why_not((name, old[name]))} for name in old],
    }


def _one_of_each_work(tx: Transaction, rows: Sequence[Json]) -> list[Json]:
    """Without those that wait for another object of their work."""
    waiting = left_objects.decided_otherwise(tx, rows)
    last: dict[tuple[str, str], Json] = {}
    for row in rows:
        key = row["cluster"], row["uid"]
        if row["objectUid"] in waiting:
            continue
        if key not in last or (last[key]["seenAt"], last[key]["since"]) < (
            row["seenAt"],
            row["since"],
        ):
            last[key] = row
    return [row for row in rows if last.get((row["cluster"], row["uid"])) is row]


def _carry_out(tx: Transaction, decision: Deciding, rows: Sequence[Json], principal: str) -> None:
    # Each decision has its own: an agent is sent a work again if its generation changes.
    generation = int(tx.now.timestamp() * 1000)
    works.upsert(tx, [_work(row, ACTIONS[decision], generation) for row in rows])
    for cluster in sorted({row["cluster"] for row in rows}):
        mine = [row["objectUid"] for row in rows if row["cluster"] == cluster]
        left_objects.decided(tx, cluster, mine)
    verb = decision.lower()
    audit.add_many(tx, [(principal, verb, _named(row), "ok") for row in rows])


def _work(row: Json, action: str, generation: int) -> WantedWork:
    return {
        "cluster": row["cluster"],
        "uid": row["uid"],
        "epoch": 0,
        "generation": generation,
        "api_version": row["apiVersion"],
        "kind": row["kind"],
        "namespace": row["namespace"],
        "name": row["name"],
        "options": ApplyOptions(object_uid=row["objectUid"]),
        "placed_by": "",
        "hash": "",
        "action": action,
        "content": "",
    }


def _fates(rows: Sequence[Json], decision: Deciding) -> list[ObjectFate]:
    found = [
        MemberObject(
            row["cluster"], row["uid"], row["apiVersion"], row["kind"], row["namespace"], row["name"],
            created=row["created"],
        )
        for row in rows
    ]  # fmt: skip
    if decision == REMOVE:
        return fates_of(found, ())
    return [ObjectFate(each, Fate.RELEASED, _ABANDONED) for each in found]


def _named(row: Json) -> str:
    place = "/".join(part for part in (row["namespace"], row["name"]) if part)
    return f"{row['kind']} {place} {row['objectUid']} in {row['cluster']}"


def _why_not(old: tuple[str, int]) -> str:
    name, spoken = old
    return (
        f"the agent of {name} cannot decide by an object's uid (it speaks protocol {spoken}, and "
        f"{OBJECT_UIDS} is needed): upgrade it, or delete the objects there with kubectl"
    )
