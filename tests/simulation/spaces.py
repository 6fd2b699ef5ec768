"""The namespace of a member, whether its people accept the hub in it, and what the hub knows of that."""

from collections.abc import Callable
from typing import Any, Final

from shared import labels
from shared.consent import NOT_ACCEPTED
from shared.kube import errors
from shared.wire.agent_v1 import SyncRequest
from tests.simulation.world import Violation

NAMESPACE: Final = "n"
_HUB_ID: Final = "hub-1"
_DENIED: Final = (
    "ValidatingAdmissionPolicy 'roadstead-agent' with binding 'roadstead-agent' denied request: "
    f"{NOT_ACCEPTED}: namespace {NAMESPACE} does not accept this hub"
)


def is_start(patch: dict[str, Any]) -> bool:
    """Whether a patch unsuspends a Job, or takes off the mark without which it waits in a queue."""
    notes = (patch.get("metadata") or {}).get("annotations") or {}
    unmarks = labels.NOT_STARTED in notes and notes[labels.NOT_STARTED] is None
    return unmarks or (patch.get("spec") or {}).get("suspend") is False


class Space:
    """The namespace of a member, which its people made. They accept the hub in it, or do not."""

    def __init__(self) -> None:
        self.is_watched = False  # agents report it
        self.accepts = True
        self._version = 1
        self.watchers: list[Callable[[], None]] = []

    def set(self, *, accepts: bool) -> None:
        if accepts != self.accepts:
            self.accepts = accepts
            self._version += 1
            for watcher in self.watchers:
                watcher()

    def admit(self) -> None:
        """The member's admission policy: it reads the namespace as it is when the request arrives."""
        if not self.accepts:
            raise errors.Forbidden(403, "Forbidden", _DENIED)

    def read(self) -> dict[str, Any]:
        marks = {labels.ACCEPT: _HUB_ID} if self.accepts else {}
        metadata = {
            "name": NAMESPACE,
            "uid": "namespace",
            "labels": marks,
            "resourceVersion": str(self._version),
        }
        return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


class Consents:
    """What agents reported, as the hub has stored it."""

    def __init__(self) -> None:
        self._states: dict[str, str | None] = {}
        self._forbidden: dict[str, bool] = {}  # the agent may create no Job there

    def reported(self, cluster: str, request: SyncRequest) -> None:
        """The hub has stored a report."""
        if request.capacity is None or request.namespaces_held is None:
            return
        if request.capacity.jobs_forbidden_in is not None:
            self._forbidden[cluster] = NAMESPACE in request.capacity.jobs_forbidden_in
        consent = request.capacity.consent
        if consent is not None:
            self._states[cluster] = consent.states.get(NAMESPACE)
        else:
            self._states.setdefault(cluster, None)

    def placed(self, row: Any) -> None:
        """R-22: no job is placed where its namespace is reported as not accepted, or not reported yet.

        Nor where the agent has reported that it may create no Job.
        """
        if row["cluster"] not in self._states:
            return
        state = self._states[row["cluster"]]
        if state in {None, NOT_ACCEPTED}:
            raise Violation("R-22", f"{row['uid']} is placed in {row['cluster']}: {state}")
        if self._forbidden.get(row["cluster"]):
            text = f"{row['uid']} is placed in {row['cluster']}, whose agent may create no Job"
            raise Violation("R-22", text)
