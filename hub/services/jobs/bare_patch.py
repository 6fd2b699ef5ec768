"""Changing and deleting bare Workloads, and the units they hand in one by one: what REST needs of them."""

from collections.abc import Container, Mapping
from dataclasses import replace
from typing import Any

import orjson

from hub.domain.access import Rights, Verb
from hub.services.context.settings import Intake
from hub.services.jobs import cancel
from hub.services.jobs.bare import KIND
from hub.services.jobs.bare_intake import refuse_hindered, revise_bare
from hub.services.kueue_view import pages
from hub.services.questions import jobs
from hub.services.reading.draft import draft
from hub.services.reading.hidden import refuse_hidden
from hub.store import audit, manifests
from hub.store.records.workloads import Workload
from hub.store.transaction import Transaction
from shared.documents import Json, JsonView
from shared.errors import Rejected
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE
from shared.kinds.parsed import Parsed
from shared.kinds.registry import parse, parse_job
from shared.reject_codes import RejectCode


def parse_unit(manifest: Any, declared: Container[tuple[str, str]] = ()) -> Parsed:
    """Read a unit of admission: a Job, or a Workload that names its queue. Raises Rejected.

    `declared`: apiVersion and kind of what administrators defined.
    """
    group = str(manifest.get("apiVersion")) if isinstance(manifest, dict) else ""
    if not group.startswith(f"{KUEUE}/") or manifest.get("kind") != KIND:
        return parse_job(manifest, declared=declared)
    return parse_bare(manifest)


def parse_bare(manifest: Any) -> Parsed:
    """Read a Workload that names its queue. Raises Rejected."""
    parsed = parse(manifest)
    if parsed.kind != KIND or parsed.group != KUEUE:
        raise Rejected(RejectCode.UNSUPPORTED_KIND, f"this is no {KUEUE} {KIND}", "kind")
    if not parsed.spec.get("queueName"):
        raise Rejected(
            RejectCode.REQUIRED, "a Workload without owner names its queue", "spec.queueName"
        )
    refuse_hindered(parsed)
    return parsed


def patch_workload(
    tx: Transaction,
    namespace: str,
    name: str,
    patch: JsonView,
    intake: Intake,
    principal: str,
    rights: Rights | None = None,
) -> Json:
    """Merge `patch` into a bare Workload's manifest and bring it to that; the Workload as it is now.

    Raises Rejected: NotFound, ForbiddenField (a Job's Workload follows its Job), Immutable, and
    whatever an apply of the result would be refused for. `rights` bound the caller.
    """
    row = _bare_row(tx, namespace, name)
    latest = manifests.latest(tx, row.uid)
    if latest is None:
        raise Rejected(RejectCode.BEING_DELETED, f"Workload {namespace}/{name} is being deleted")
    parsed = parse(_merged(orjson.loads(latest[1]), patch), default_namespace=namespace)
    if (parsed.kind, parsed.namespace, parsed.name) != (KIND, namespace, name):
        raise Rejected(RejectCode.IMMUTABLE, "kind, namespace and name stay", "metadata")
    given = refuse_hidden(draft(parsed, tx.now, origin=row.origin, uid=row.uid))
    jobs.require(tx, row._replace(queue=given.queue))
    administers = tx.scope.allows(
        namespace, given.queue
    )  # without an owner: all jobs of the queue
    classes = None
    if rights is not None:
        classes = rights.priority_classes(Verb.CHANGE, namespace, given.queue, row.owner)
    given = replace(
        given,
        may_set_priority=administers and classes is None,
        priority_classes=classes,
    )
    if revise_bare(tx, given, row, intake):
        audit.note(
            tx,
            principal,
            "patch",
            row,
            "configured",
        )
    return pages.get_workload(tx, namespace, name)


def delete_workload(
    tx: Transaction, namespace: str, name: str, principal: str, expected: str
) -> Json:
    """Delete a bare Workload: its quota is free at once. Raises Rejected: NotFound, ForbiddenField."""
    row = _bare_row(tx, namespace, name)
    return cancel.delete_job(tx, row.uid, principal, expected)


def _bare_row(tx: Transaction, namespace: str, name: str) -> Workload:
    row = pages.find_row(tx, namespace, name)
    if row.kind != KIND:
        text = f"it is the Workload of Job {namespace}/{row.name}: change or delete the Job"
        raise Rejected(RejectCode.FORBIDDEN_FIELD, text, "metadata.name")
    return jobs.require(tx, row)


def _merged(present: Any, patch: Any) -> Any:
    """JSON merge patch (RFC 7386)."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(present) if isinstance(present, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merged(merged.get(name), value)
    return merged
