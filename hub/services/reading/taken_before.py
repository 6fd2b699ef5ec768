"""Objects that an earlier release took: a rule that came later judges them once their spec changes.

So a file is applied again, unchanged or with another label; a spec that is new or has changed is judged by
every rule.
"""

from typing import Final

import orjson

from hub.domain.workloads.origin import Origin
from hub.services.reading.draft import Draft
from hub.services.reading.work_kinds import refused_if_new
from hub.store import manifests, objects, workloads
from hub.store.transaction import Transaction
from shared.documents import JsonView
from shared.errors import Rejected

_SAME: Final = ("apiVersion", "kind", "spec")


def judged(tx: Transaction, given: Draft | Rejected) -> Draft | Rejected:
    """The draft, or its refusal by a rule for what is new, where it is new or its spec has changed."""
    if isinstance(given, Rejected) or given.refused_if_new is None:
        return given
    before = _before(tx, given)
    now: JsonView = orjson.loads(given.body)
    if before is None or any(before.get(name) != now.get(name) for name in _SAME):
        return given.refused_if_new
    fault = refused_if_new(before, from_client=given.origin == Origin.REST)
    same = fault is not None and fault.field == given.refused_if_new.field
    return given if same else given.refused_if_new


def _before(tx: Transaction, given: Draft) -> JsonView | None:
    """The manifest that the hub has of this very object; None: it is new."""
    parsed = given.parsed
    if not given.is_job:
        row = objects.find(tx, parsed.group, parsed.kind, parsed.namespace, given.name)
        if row is None or row.deleted_at is not None or not _is_same(given, row.origin, row.uid):
            return None
        return row.manifest
    place = (parsed.namespace, given.name)
    job = workloads.live_by_name(tx, [place], workloads.RUN).get(place)
    if job is None or not _is_same(given, job.origin, job.uid):
        return None
    latest = manifests.latest(tx, job.uid)
    found: JsonView | None = None if latest is None else orjson.loads(latest[1])
    return found


def _is_same(given: Draft, origin: str, uid: str) -> bool:
    return origin == given.origin and (origin == Origin.REST or uid == given.uid)
