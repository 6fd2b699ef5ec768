"""Objects of the hub cluster as the intake takes them."""

import asyncio
import datetime as dt
from dataclasses import replace

from hub.bridge.arrivals import Arrivals
from hub.domain.workloads.origin import Origin
from hub.services.kinds.declared_kinds import DeclaredKinds, OnEventLoop
from hub.services.reading.draft import Draft, draft
from shared.errors import Rejected
from shared.kinds import parse
from shared.kube.client import Object
from shared.reject_codes import RejectCode


async def draft_of(obj: Object, now: dt.datetime, kinds: DeclaredKinds) -> Draft | Rejected:
    """Read an object here, or beside the loop what takes its time. `kinds`: those of administrators."""
    try:
        return _drafted(obj, now, kinds)
    except OnEventLoop:
        return await asyncio.to_thread(_drafted, obj, now, kinds)


def _drafted(obj: Object, now: dt.datetime, kinds: DeclaredKinds) -> Draft | Rejected:
    """An object as the intake takes it: its uid is the job's or object's own. Raises OnEventLoop there."""
    try:
        parsed = parse(
            obj, strict=False, origin="hub-cluster", lenient_versions=True, declared=kinds
        )
        created = dt.datetime.fromisoformat(obj["metadata"]["creationTimestamp"])
        uid, origin = str(obj["metadata"]["uid"]), Origin.HUB_CLUSTER
        given = draft(
            parsed, now, origin=origin, uid=uid, created_at=created, kinds=kinds, stands=True
        )
        # On the hub cluster only roles that administer queues may write Workloads.
        return replace(given, may_set_priority=given.is_bare)
    except Rejected as refusal:
        return refusal
    except (KeyError, TypeError, ValueError) as fault:
        return Rejected(RejectCode.UNREADABLE, f"the object can not be read: {fault!r}"[:500])


def as_it_came(given: Draft | Rejected, arrivals: Arrivals) -> Draft | Rejected:
    """A new job, with a creation time that tells its turn among those of the same second."""
    if isinstance(given, Rejected) or given.created_at is None:
        return given
    return replace(given, created_at=arrivals.instant(given.created_at))
