"""Consent of the member's people, read past every cache: may this hub compare and take over foreign objects?

The namespace consents (`agent.member.acceptance`), or, for a cluster-scoped object, label
`roadstead.dev/accept` on the object itself. The member's admission policy requires the same.
"""

from agent.member.acceptance import Acceptance
from agent.objects.facts import Object
from shared import labels
from shared.consent import accept_command
from shared.kube import errors
from shared.kube.client import KubeClient
from shared.wire.agent_v1 import Work


class Consent:
    """Asks one member on behalf of one hub."""

    def __init__(self, client: KubeClient, acceptance: Acceptance) -> None:
        self._client = client
        self._acceptance = acceptance
        self._hub_id = acceptance.hub_id

    async def covers(self, live: Object) -> bool:
        """May the hub read or take over this foreign object? Raises KubeError."""
        namespace = live["metadata"].get("namespace")
        if not namespace:
            marks = live["metadata"].get("labels") or {}
            return bool(marks.get(labels.ACCEPT) == self._hub_id)
        holder = await self._client.get("v1", "Namespace", "", namespace)
        return self._acceptance.consents(holder, namespace)

    async def tells_absence(self, work: Work) -> bool:
        """May the hub learn that the namespace of a work lacks its object? Raises KubeError."""
        if not work.namespace:
            return True
        try:
            held = await self._client.get("v1", "Namespace", "", work.namespace)
        except errors.NotFound:
            return True
        return self._acceptance.judge(held, work.namespace, work.namespace_id) is None

    def command(self, kind: str, name: str, namespace: str) -> str:
        """Return the command with which a person of the member consents."""
        target = f"namespace {namespace}" if namespace else f"{kind.lower()} {name}"
        return accept_command(target, self._hub_id)
