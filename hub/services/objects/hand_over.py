"""Handing an object over: from kubectl to REST, or the other way round.

To REST is done here: from now on the row is REST's, and the bridge makes the object of the hub cluster its
mirror. To the hub cluster is begun here: the row says so, the bridge lets the mirror go, and what it then
finds there takes the row's place (`hub.services.objects.apply`). A crash in between leaves either a
mirror, or an object that is taken in: never two, never none.
"""

from typing import Final, Literal

from hub.domain.workloads.origin import Origin
from hub.services.context.hub_cluster import hub_cluster_uid
from hub.services.context.settings import BridgeSettings
from hub.services.placements.selecting import OF_JOBS
from hub.services.questions.objects import find
from hub.store import audit, objects, workloads
from hub.store.records.objects import StoredObject
from hub.store.records.workloads import Workload
from hub.store.transaction import Transaction
from shared import labels
from shared.documents import Json
from shared.errors import Rejected
from shared.groups import CLUSTER, KUEUE, PLACEMENT
from shared.reject_codes import RejectCode

To = Literal["rest", "hub-cluster"]
REST: Final = "rest"
DONE, BEGUN, UNCHANGED = "handed-over", "handing-over", "unchanged"
_GROUPS: Final = frozenset({KUEUE, CLUSTER, PLACEMENT})


def hand_over(
    tx: Transaction,
    place: tuple[str, str, str, str],
    to: To,
    principal: str,
    settings: BridgeSettings,
) -> Json:
    """Hand over what is at `place` (group, kind, namespace, name): {"uid", "result"}.

    Raises Rejected: NotFound; NotHandedOver for kinds that are not shown on the hub cluster, for Jobs,
    placements and members to the hub cluster (what depends on their uids would be lost), and
    without a hub cluster.
    """
    group, kind, namespace, name = place
    row = _job_of(tx, group, kind, namespace, name)
    if row is not None or (group, kind) == ("batch", "Job"):
        return _hand_over_job(tx, row, f"{namespace}/{name}", to, principal)
    if group not in _GROUPS or kind == "Workload":
        raise _refusal(f"a {kind} is not shown on the hub cluster: it stays where it was made")
    return _hand_over_object(tx, find(tx, group, kind, namespace, name), to, principal, settings)


def _hand_over_object(
    tx: Transaction, row: StoredObject, to: To, principal: str, settings: BridgeSettings
) -> Json:
    group, kind, name = row.api_group, row.kind, row.name
    if is_handed_over(row) and to == REST:
        return _take_back(tx, row, principal)
    if row.origin == to:
        return {"uid": row.uid, "result": UNCHANGED}
    if row.deleted_at is not None:
        raise Rejected(RejectCode.BEING_DELETED, f"{kind} {name} is being deleted")
    if to == REST:
        objects.change(tx, row.uid, origin=REST, updated_at=tx.now)
        _note(tx, row, to, principal)
        return {"uid": row.uid, "result": DONE}
    if group != KUEUE:
        raise _refusal(f"a {kind} of REST stays REST's: delete it, and make another with kubectl")
    if not hub_cluster_uid(tx) or settings.objects != "On":
        raise _refusal("there is no hub cluster that shows it")
    marked = {**row.annotations, labels.HAND_OVER: to}
    objects.change(tx, row.uid, annotations=marked, updated_at=tx.now)
    _note(tx, row, to, principal)
    return {"uid": row.uid, "result": BEGUN}


def is_handed_over(row: StoredObject) -> bool:
    """Is it on its way from REST to the hub cluster?"""
    return row.origin == Origin.REST and row.annotations.get(labels.HAND_OVER) is not None


def refuse_meanwhile(row: StoredObject) -> None:
    """What REST can not do to one on its way: it is the hub cluster's in a moment. Raises Rejected."""
    if is_handed_over(row):
        text = (
            f"{row.kind} {row.name} is being handed over to the hub cluster: change it there, or take it "
            "back first (roadstead hand-over … --to rest)"
        )
        raise Rejected(RejectCode.OWNED_ELSEWHERE, text, "metadata.name")


def _take_back(tx: Transaction, row: StoredObject, principal: str) -> Json:
    """It stays REST's; where its mirror was let go already, that is left to whoever has it there."""
    kept = {name: value for name, value in row.annotations.items() if name != labels.HAND_OVER}
    objects.change(tx, row.uid, annotations=kept, updated_at=tx.now)
    _note(tx, row, REST, principal)
    return {"uid": row.uid, "result": DONE}


def _job_of(tx: Transaction, group: str, kind: str, namespace: str, name: str) -> Workload | None:
    """The job of this kind and name: a name is one job's in its namespace, whatever its kind."""
    if (group, kind) not in OF_JOBS:
        return None
    row = workloads.live_by_name(tx, [(namespace, name)]).get((namespace, name))
    same = row is not None and (row.api_version.rpartition("/")[0], row.kind) == (group, kind)
    return row if same else None


def _hand_over_job(
    tx: Transaction, row: Workload | None, named: str, to: To, principal: str
) -> Json:
    if row is None:
        raise Rejected(RejectCode.NOT_FOUND, f"there is no Job {named}")
    if row.origin == to:
        return {"uid": row.uid, "result": UNCHANGED}
    if to != REST:
        raise _refusal(
            f"a {row.kind} of REST stays REST's: delete it, and make another with kubectl"
        )
    if row.deleted_at is not None or row.withdraw_to == "Deleted":
        raise Rejected(RejectCode.BEING_DELETED, f"job {named} is being deleted")
    workloads.change(tx, [{"uid": row.uid, "origin": REST}])
    tx.touch("objects", row.uid)  # the bridge makes its object a mirror, shown or not
    tx.say(row, "HandedOver", f"REST owns it from now on, by order of {principal}")
    audit.note(tx, principal, "hand-over", row, to)
    return {"uid": row.uid, "result": DONE}


def _note(tx: Transaction, row: StoredObject, to: To, principal: str) -> None:
    where = "by REST" if to == REST else "on the hub cluster"
    tx.say(row, "HandedOver", f"it is kept {where} from now on, says {principal}")
    what = "/".join(part for part in (row.kind, row.namespace, row.name) if part)
    audit.add(tx, principal, "hand-over", what, to)


def _refusal(text: str) -> Rejected:
    return Rejected(RejectCode.NOT_HANDED_OVER, text)
