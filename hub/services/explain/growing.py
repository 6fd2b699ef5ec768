"""A job that runs smaller than wanted: what the difference lacks, in the numbers of a job that waits."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from hub.domain.admission.flavors import FlavorCatalog
from hub.domain.admission.shortages import shortage
from hub.domain.placement.never_fits import why_never
from hub.domain.plan import Reason, Refusal, Shortage
from hub.domain.quota import resize
from hub.domain.quota.holders import AdmittedWorkload
from hub.domain.workloads.demand import Constraints, kind_constraint
from hub.domain.workloads.shape import decode
from hub.domain.workloads.states import State
from hub.services.context.decisions import refusal_view
from hub.services.context.hub import Hub
from hub.services.explain.as_it_is_now import quota_now
from hub.services.index.index import ScheduleIndex
from hub.services.index.pending_growth import needs_of
from hub.store import manifests, workloads
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.resources import PodSet

_RUNS: Final = frozenset({State.OFFERED, State.APPLIED, State.RUNNING})


class _Wanted(NamedTuple):
    """All pods of the wanted size, and the kind."""

    pod_sets: tuple[PodSet, ...]
    kind: str


async def growing(hub: Hub, index: ScheduleIndex | None, told: Json) -> Json:
    """What is to be replaced in the answer about such a job; {} of any other, and where no index has it."""
    admission = told["admission"] or {}
    missing = resize.growth(admission)
    if index is None or missing is None or told["state"] not in _RUNS:
        return {}
    wanted = await hub.read(_wanted, told["uid"])
    queue = told["clusterQueue"]
    holder = index.holders.get(queue, {}).get(told["uid"])
    node = index.ledger.tree.queues.get(queue)
    if wanted is None or holder is None or node is None:
        return {}
    short = [
        shortage(index.ledger.tree, node, of, amount)
        for of, amount in sorted(missing.charge.items())
        if index.ledger.available(queue, of) < amount
    ]
    beyond = [s for s in short if s.asked + holder.usage.get(s.of, 0) > s.limit]
    never = _never(index, holder.cluster, wanted)
    index.refresh_room()
    room = index.claims.room_beside(hub.clock.now())
    needs = needs_of(holder, missing, room.layout)
    at = room.layout.position.get(holder.cluster)
    has_room = at is not None and needs is not None and room.copy().take_all(needs, at)
    said = list(map(str, short))
    if never:
        said.insert(0, f"{holder.cluster} could never hold all of it: {never}")
    elif not has_room:
        said.append(f"{holder.cluster} has no room for the others")
    if not said:
        said.append("both are there now; who waits in line goes first")
    message = f"{told['message']}: {'; '.join(said)}"
    reason = Reason.WAITING_FOR_QUOTA if short and not never else Reason.NO_CLUSTER_FITS
    refusal = Refusal("", queue, reason, message, tuple(short), never=bool(never))
    return {
        "message": message,
        "waiting": refusal_view(refusal) if short or never or not has_room else None,
        "quota": quota_now(index, queue),
        "remedies": _remedies(told, holder, short, beyond, lacks_room=not has_room, never=never),
    }


def _wanted(tx: Transaction, uid: str) -> _Wanted | None:
    row = workloads.get(tx, uid)
    shape = None if row is None else manifests.get_shapes(tx, {row.shape}).get(row.shape)
    if row is None or shape is None:
        return None
    return _Wanted(tuple(decode(shape)), kind_constraint(row.api_version, row.kind))


def _never(index: ScheduleIndex, cluster: str, wanted: _Wanted) -> str:
    """Why its cluster could not hold all of its pods if it were empty; it grows in no other."""
    layout = index.members.room.layout
    members = {n: c for n, c in index.members.clusters.items() if n in layout.position}
    if cluster not in members:
        return ""
    catalog = FlavorCatalog(index.routes.flavors, index.keys.since)
    asks = [
        catalog.ask_widely(p)._replace(growing=layout.sites is not None) for p in wanted.pod_sets
    ]
    constraints = Constraints(kind=wanted.kind, clusters=(cluster,))
    return why_never(wanted.pod_sets, asks, constraints, members, layout)


def _remedies(
    told: Json,
    holder: AdmittedWorkload,
    short: Sequence[Shortage],
    beyond: Sequence[Shortage],
    *,
    lacks_room: bool,
    never: str,
) -> list[Json]:
    queue, name = told["clusterQueue"], f"{told['namespace']}/{told['name']}"
    found = []
    if short:
        named = " and ".join(f"{s.of.resource} of flavor {s.of.flavor}" for s in short)
        ends = "" if beyond else "jobs that use it end, or "
        found.append(f"{ends}more quota of {named}: roadstead queues set {queue} --nominal")
    if never or lacks_room:
        ends = "" if never else "jobs there end, or "
        found.append(
            f"{ends}more nodes in {holder.cluster}: it grows where it runs. roadstead jobs hold {name} and "
            "release start it anew, elsewhere if need be: all of its pods stop, and it waits for all at once"
        )
    if never or beyond:
        found.append("fewer pods: this size could never be served as things are")
    return [{"kind": "Rule", "message": text} for text in found]
