"""Admission on a hub cluster: who created an object of another dispatched kind is written down.

The built-in equivalent of policies roadstead-kinds-submitted-by in deploy/hub-cluster, word for word.
"""

from typing import Final, Literal

from shared import labels
from shared.kubesim.apimachinery import metadata
from shared.kubesim.apimachinery.registry import Resource
from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.apimachinery.writer import writer
from shared.kubesim.server.job_guard import denied
from shared.kubesim.server.kind_guard import DISPATCHED_KEYS
from shared.kubesim.server.kind_queues import names_a_queue
from shared.kubesim.server.mirror_guard import HUB

POLICY: Final = "roadstead-kinds-submitted-by"
NOT_OTHERS: Final = (
    f"{labels.SUBMITTED_BY} is who creates the object, or gives it its queue: leave it out, or write "
    "your own name"
)
STAYS: Final = f"{labels.SUBMITTED_BY} stays as it was when the object was created"


class KindSubmitters:
    """`writes`: from 1.36 on it is written here; before by who likes to, and never another's name."""

    def __init__(self, *, writes: bool) -> None:
        self._writes = writes

    def admit(
        self,
        operation: Literal["CREATE", "UPDATE"],
        resource: Resource,
        new: Object,
        old: Object | None,
    ) -> Object:
        """Raises ApiError Invalid, as a policy's refusal reads."""
        by = writer()
        if resource.key not in DISPATCHED_KEYS or not by:
            return new
        late = old is not None and _gets_a_queue(new, old)
        said = "" if old is None else _says(old)
        if self._writes:
            if (old is None or late) and _is_ours(new):
                said = by
            new = _with(new, said)
        says, name = _says(new), new["metadata"].get("name") or ""
        if by == HUB.name:  # it says who sent what it shows of REST
            return new
        if (old is None or late) and says not in ("", by):
            raise denied(POLICY, name, NOT_OTHERS, resource.key)
        if old is not None and not late and says != said:
            raise denied(POLICY, name, STAYS, resource.key)
        return new


def _is_ours(obj: Object) -> bool:
    mirrored = labels.ORIGIN in (obj["metadata"].get("labels") or {})
    return names_a_queue(obj) and not mirrored and metadata.controller_of(obj) is None


def _gets_a_queue(new: Object, old: Object) -> bool:
    kept = labels.FINALIZER in (old["metadata"].get("finalizers") or ())
    return names_a_queue(new) and not names_a_queue(old) and not kept


def _says(obj: Object) -> str:
    return str((obj["metadata"].get("annotations") or {}).get(labels.SUBMITTED_BY) or "")


def _with(obj: Object, name: str) -> Object:
    if not name or _says(obj) == name:
        return obj
    held = obj["metadata"]
    notes = {**(held.get("annotations") or {}), labels.SUBMITTED_BY: name}
    return {**obj, "metadata": {**held, "annotations": notes}}
