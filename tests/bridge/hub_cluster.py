"""A simulated hub cluster, a hub, and the bridge between them, in one event loop."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from hub.bridge.bridge import Bridge
from hub.controllers.class_values import ClassValues
from hub.controllers.placements import Placements
from hub.services.context import leadership
from hub.services.context.settings import Settings
from hub.services.mirror.not_taken import NotTaken
from shared.clock import SystemClock
from shared.kube import errors
from shared.kube.client import KubeClient
from shared.kubesim.cluster import SimCluster
from shared.kubesim.server.mirror_guard import HUB
from tests import manifests, waiting
from tests.bridge.defined import with_hub_kinds
from tests.services.members.hubs import Agent, Running, running_hub

FIELDS = "kubectl-client-side-apply"

VERSIONS = {
    "Job": "batch/v1",
    "Namespace": "v1",
    "ConfigMap": "v1",
    "Event": "v1",
    "ResourceFlavor": "kueue.x-k8s.io/v1beta1",
    "ClusterQueue": "kueue.x-k8s.io/v1beta1",
    "LocalQueue": "kueue.x-k8s.io/v1beta1",
    "MemberCluster": "cluster.kubernetes-fleet.io/v1beta1",
    "ClusterResourcePlacement": "placement.kubernetes-fleet.io/v1beta1",
    "ResourcePlacement": "placement.kubernetes-fleet.io/v1beta1",
}
NAMESPACES = """
apiVersion: v1
kind: Namespace
metadata: {name: team-a}
---
apiVersion: v1
kind: Namespace
metadata: {name: hard, labels: {pod-security.kubernetes.io/enforce: restricted}}
"""


class World:
    """Both sides, and what a user does with kubectl."""

    def __init__(
        self, cluster: SimCluster, kube: KubeClient, hub: Running, bridge: Bridge
    ) -> None:
        self.cluster, self.kube, self.hub, self.bridge = cluster, kube, hub, bridge
        self.agents: dict[str, Agent] = {}

    async def apply(self, text: str) -> list[dict[str, Any]]:
        """Create or replace each document, as kubectl apply does."""
        given = manifests.documents(text)
        return [await self.kube.apply(one, field_manager=FIELDS, force=True) for one in given]

    async def get(self, kind: str, name: str, namespace: str = "", version: str = "") -> Any:
        try:
            return await self.kube.get(version or VERSIONS[kind], kind, namespace, name)
        except errors.NotFound:
            return None

    async def delete(self, kind: str, name: str, namespace: str = "") -> None:
        await self.kube.delete(VERSIONS[kind], kind, namespace, name)


async def until(question: Callable[[], Awaitable[Any]], seconds: float = 15) -> Any:
    """The first answer that is true; fails after `seconds`."""
    answer = None
    for _ in range(int(seconds / 0.05)):
        answer = await question()
        if answer:
            return answer
        await waiting.span(0.05, why="between two looks")
    raise AssertionError(f"not within {seconds} s: {answer!r}")


@contextlib.asynccontextmanager
async def world(
    directory: Path,
    cluster: SimCluster | None = None,
    limits: Settings | None = None,
    hub_user: str = HUB.name,
) -> AsyncIterator[World]:
    """Everything running; `cluster` goes on where it was. `hub_user`: whose credential the hub has."""
    clock = SystemClock()
    own = cluster is None
    if cluster is None:
        cluster = with_hub_kinds()
        await cluster.start()
    kubeconfig = directory / "hub.kubeconfig"
    kubeconfig.write_text(cluster.kubeconfig_text())
    hubs_own = directory / "hubs-own.kubeconfig"
    hubs_own.write_text(cluster.kubeconfig_text(hub_user))
    async with (
        running_hub(directory, clock, limits) as hub,
        await KubeClient.connect(kubeconfig) as kube,
    ):
        term = await hub.write(leadership.seize, "test")

        not_taken = NotTaken()
        bridge = Bridge(hub.hub, lambda: term, hubs_own, not_taken)
        placements = Placements(hub.hub, lambda: term, not_taken=not_taken)
        classes = ClassValues(hub.hub, lambda: term)
        tasks = [asyncio.create_task(each.run()) for each in (bridge, placements, classes)]
        try:
            yield World(cluster, kube, hub, bridge)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if own:
                await cluster.stop()


async def warnings(it: World) -> dict[str, tuple[str, str]]:
    events = (await it.kube.list("v1", "Event")).items
    return {
        each["involvedObject"]["name"]: (each["reason"], each["message"])
        for each in events
        if each["type"] == "Warning"
    }
