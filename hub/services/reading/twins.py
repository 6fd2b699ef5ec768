"""What keeps work of other kinds than Job from being taken, or an object of these kinds from being kept.

The hub never has both work and a placed object of one identity: a member that had one from its queue and
another from a placement would have two under one name.
"""

from hub.domain.workloads.work_form import WorkForm
from hub.services.reading.draft import Draft, read_by_the_hub
from hub.store import kind_versions, newer_work, objects, workloads
from hub.store.records.workloads import ShapeColumns
from hub.store.transaction import Transaction
from shared.errors import Rejected
from shared.kinds.batch_v1 import max_runtime_s
from shared.kinds.dispatched import is_dispatched
from shared.labels import QUEUE_NAME
from shared.reject_codes import RejectCode

_FIELD = f"metadata.labels[{QUEUE_NAME}]"


class WorkOfKinds:
    """Judges the drafts of one transaction; whether hubs of earlier releases run is asked once."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._older: list[str] | None = None
        self._current: dict[str, bool] = {}

    def refuse(self, given: Draft) -> Rejected | None:
        """The refusal of work that is not taken, or None. Codes: AlreadyExists, NoAdapter, Conflict."""
        if given.form is None:
            return None
        parsed = given.parsed
        if objects.find(self._tx, parsed.group, parsed.kind, parsed.namespace, given.name):
            what = f"{parsed.kind} {parsed.namespace}/{given.name}"
            text = f"{_FIELD}: {what} is there without a queue, placed as it is: delete it first"
            return Rejected(RejectCode.ALREADY_EXISTS, text, _FIELD)
        if self._older is None:
            self._older = newer_work.older_hubs(self._tx)
        if self._older:
            text = (
                f"kind: a hub of an earlier release runs on this database, which knows no {parsed.kind}: "
                "send it again once that hub is stopped"
            )
            return Rejected(RejectCode.NO_ADAPTER, text, "kind")
        newer_work.keep_older_out(self._tx)
        return self._outdated(given.form.kind_version)

    def _outdated(self, key: str) -> Rejected | None:
        """Refuse what was read by a definition that changed since: no agent may get that version."""
        if key and key not in self._current:
            self._current[key] = kind_versions.is_current(self._tx, key)
        if not key or self._current[key]:
            return None
        text = f"kind: definition {key}, by which it was read, changed meanwhile: send it again"
        return Rejected(RejectCode.CONFLICT, text, "kind")


def require_no_work(tx: Transaction, given: Draft) -> None:
    """Raise Rejected (Immutable) for an object without a queue whose kind and name work has."""
    parsed = given.parsed
    if not is_dispatched(parsed.api_version, parsed.kind) and "." not in parsed.group:
        return  # of a group with a dot administrators may have defined the kind
    place = (parsed.namespace, given.name)
    row = workloads.live_by_name(tx, [place]).get(place)
    if row is not None and row.kind == parsed.kind:
        text = (
            f"{_FIELD}: {parsed.kind} {'/'.join(place)} waits in queue {row.queue}, or runs by it: delete "
            "it first, or name the queue"
        )
        raise Rejected(RejectCode.IMMUTABLE, text, _FIELD)


def columns_of(given: Draft, form: WorkForm) -> ShapeColumns:
    """The columns of such work."""
    return {
        "shape": given.shape,
        "parallelism": form.pods,
        "completions": None,
        "ttl_s": form.ttl_s,
        "max_runtime_s": max_runtime_s(given.parsed.labels),
        "labels": dict(given.parsed.labels),
        "annotations": read_by_the_hub(given.parsed.annotations),
        "kind_version": form.kind_version,
    }
