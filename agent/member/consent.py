"""Consent of the member's people, read past every cache: may this hub compare and take over foreign objects?

The answer is label `roadstead.dev/accept` on the namespace, or on the object itself if it is
cluster-scoped (docs/explain/ownership.md). The member's admission policy requires the same label.
"""

from typing import Final

from agent.objects.facts import Object, is_created
from shared import labels
from shared.kube import errors
from shared.kube.client import KubeClient

NOT_ACCEPTED: Final = "NotAccepted"


class Consent:
    """Asks one member on behalf of one hub."""

    def __init__(self, client: KubeClient, hub_id: str) -> None:
        self._client = client
        self._hub_id = hub_id

    async def covers(self, live: Object) -> bool:
        """May the hub read or take over this foreign object? Raises KubeError."""
        namespace = live["metadata"].get("namespace")
        consenting = live
        if namespace:
            consenting = await self._client.get("v1", "Namespace", "", namespace)
        return self._accepts(consenting)

    async def tells_absence(self, namespace: str) -> bool:
        """May the hub learn that a namespace lacks an object? Raises KubeError."""
        if not namespace:
            return True
        try:
            held = await self._client.get("v1", "Namespace", "", namespace)
        except errors.NotFound:
            return True
        return self._accepts(held) or is_created(held, self._hub_id)

    def command(self, kind: str, name: str, namespace: str) -> str:
        """Return the command with which a person of the member consents."""
        target = f"namespace {namespace}" if namespace else f"{kind.lower()} {name}"
        return f"kubectl label {target} {labels.ACCEPT}={self._hub_id}"

    def _accepts(self, holder: Object) -> bool:
        marks = holder["metadata"].get("labels") or {}
        return bool(marks.get(labels.ACCEPT) == self._hub_id)
