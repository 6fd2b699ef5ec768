"""A hub with placements: members with capacity, the guide's files, and turns of the controller."""

from pathlib import Path
from typing import Any

from hub.controllers.placements import Placements
from hub.domain.workloads.origin import Origin
from hub.services.context import leadership
from hub.services.context.settings import Intake
from hub.services.objects.apply import Applied, apply_documents
from hub.services.reading.draft import draft
from hub.store import objects
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction
from shared.kinds import parse
from shared.wire.versions import ABANDONS
from tests import manifests, waiting
from tests.services.members.hubs import Agent, Running, seen

GUIDE = Path(__file__).parents[3] / "examples" / "guide"
FLEET = "placement.kubernetes-fleet.io"

_GROUPS = {"ClusterQueue": "kueue.x-k8s.io", "LocalQueue": "kueue.x-k8s.io"}
PLACED_QUEUE = """
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: queues}
spec:
  resourceSelectors: [{group: kueue.x-k8s.io, version: v1beta2, kind: ClusterQueue, name: default}]
  policy: {placementType: PickFixed, clusterNames: []}
---
"""  # so that placements choose clusters for the Jobs of ClusterQueue default; brings nothing anywhere
JOBS = (
    PLACED_QUEUE
    + """
apiVersion: batch/v1
kind: Job
metadata: {name: one, namespace: shop}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: busybox}]
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ResourcePlacement
metadata: {name: jobs, namespace: shop}
spec:
  resourceSelectors: [{group: batch, version: v1, kind: Job, name: one}]
"""
)
CONFIG = """
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop, labels: {tier: web}}
data: {color: blue}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ResourcePlacement
metadata: {name: everywhere, namespace: shop}
spec:
  resourceSelectors: [{group: "", version: v1, kind: ConfigMap, labelSelector: {matchLabels: {tier: web}}}]
"""


def capacity(cpu: int, memory: int) -> dict[str, Any]:
    """One node with `cpu` cores and `memory` GiB free."""
    amounts = [cpu * 1000, memory << 30, 110]
    node = {"name": "node-1", "allocatable": amounts, "free": amounts}
    pool = {"labels": {}, "resources": ["cpu", "memory", "pods"], "nodes": [node]}
    return {"pools_revision": 0, "pools": [pool], "bound": [], "node_count": 1}


class Fleet:
    """What a test does to a hub with placements."""

    def __init__(self, hub: Running, controller: Placements) -> None:
        self.hub, self.controller = hub, controller
        self.agents: dict[str, Agent] = {}

    @classmethod
    async def start(cls, hub: Running, *members: str) -> "Fleet":
        term = await hub.write(leadership.seize, "test")
        fleet = cls(hub, Placements(hub.hub, lambda: term))
        for index, name in enumerate(members, start=1):
            agent = fleet.agents[name] = await hub.join(name)
            await agent.sync(capacity=capacity(8 * index, 32 * index))
        return fleet

    async def apply(self, text: str) -> list[Applied]:
        """Apply documents, as REST does."""
        documents = manifests.documents(text)

        def all_of_them(tx: Transaction) -> list[Applied]:
            drafts = [draft(parse(each), tx.now, origin=Origin.REST) for each in documents]
            return apply_documents(tx, drafts, Intake())

        results = await self.hub.write(all_of_them)
        for result in results:
            assert result.error is None, result.error
        await self.turn()
        return results

    async def turn(self) -> None:
        """Let the controller follow everything."""
        await self.hub.settled()  # whatever was committed has been told to all who follow
        for _ in range(6):
            await waiting.turns(5)
            await self.controller.tick()
        await self.hub.settled()

    async def sync(self, *names: str, phase: str = "Applied", **said: Any) -> None:
        """Agents fetch what they should hold, and say that it is so."""
        for name in names or self.agents:
            agent = self.agents[name]
            self.hub.clock.advance(1)
            await agent.sync()
            entries = []
            for work in agent.works.values():
                if work["kind"] == "Job":
                    continue
                left = work["action"] == "Keep" and agent.protocol >= ABANDONS
                given = "Gone" if work["action"] == "Withdraw" or left else phase
                entry = seen(work["uid"], given, 0, **{"available": True, **said})
                entry.generation = work["generation"]
                entries.append(entry)
            await agent.sync(*entries)
        await self.turn()

    async def object(self, kind: str, name: str, namespace: str = "") -> StoredObject | None:
        group = FLEET if kind.endswith("Placement") else _GROUPS.get(kind, "")
        return await self.hub.hub.read(objects.find, group, kind, namespace, name)

    async def status(self, kind: str, name: str, namespace: str = "") -> dict[str, Any]:
        row = await self.object(kind, name, namespace)
        assert row is not None
        return row.status or {}

    def held(self, name: str) -> list[str]:
        """What an agent holds: Kind/name."""
        return sorted(
            f"{work['kind']}/{work['name']}"
            for work in self.agents[name].works.values()
            if work["action"] == "Apply"
        )


def conditions(status: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Type → (status, reason), without what is said of fields that change nothing."""
    return {
        each["type"]: (each["status"], each["reason"])
        for each in status["conditions"]
        if each["type"] != "NotActedOn"
    }
