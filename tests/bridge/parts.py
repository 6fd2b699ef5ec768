"""The bridge's parts without its loops: a test takes the turns, so that it sees what one turn leaves."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from hub.bridge.condition import BridgeCondition
from hub.bridge.deletion import Deletions
from hub.bridge.events import EventRecorder
from hub.bridge.kinds import JOB, NAMESPACE, Mirrored
from hub.bridge.mirror import Mirror
from hub.bridge.sources import Sources
from hub.bridge.writeback import Writeback
from hub.domain.workloads.origin import Origin
from hub.services.context import leadership
from hub.services.objects.apply import apply_documents
from hub.services.placements.index import PlacementIndex
from hub.services.reading.draft import draft
from hub.store import objects, workloads
from hub.store.records.objects import StoredObject
from hub.store.records.workloads import Workload
from shared import labels
from shared.clock import ManualClock, SystemClock
from shared.groups import KUEUE, PLACEMENT
from shared.kinds import parse
from shared.kube.client import KubeClient
from shared.kubesim.cluster import SimCluster
from tests.bridge.defined import with_hub_kinds, without_hub_kinds
from tests.bridge.hub_cluster import FIELDS, until
from tests.services.members.hubs import Running, running_hub
from tests.store.build import an_object

CONFIG_MAP = Mirrored("", "ConfigMap", ("v1",))
KINDS = (NAMESPACE, JOB, CONFIG_MAP)
QUEUE = Mirrored(KUEUE, "ClusterQueue", ("v1beta2",), finalized=True, order=2)
CHECK = Mirrored(KUEUE, "AdmissionCheck", ("v1beta2",), order=1)


class Parts:
    """One connection's parts, and the hub and the API server at both of their ends."""

    def __init__(self, hub: Running, kube: KubeClient, term: int) -> None:
        self.hub, self.kube, self.term = hub, kube, term
        self.sources = Sources(kube, hub.clock, lambda: None)
        self.index = PlacementIndex()
        self.condition = BridgeCondition(hub.hub, lambda: term)
        self.restart()

    def restart(self) -> None:
        """Begin anew with what the store and the caches have, as another process does."""
        hub, kube = self.hub, self.kube
        self.mirror = Mirror(hub.hub, kube, self.sources, self.index, lambda uid: None)
        self.deletions = Deletions(hub.hub, kube, self.sources, self.mirror, self.condition)
        self.events = EventRecorder(hub.hub, kube, self.sources)
        self.mirror.left = self.events.was_left
        self.writeback = Writeback(
            hub.hub, kube, self.sources, self.mirror, self.events, lambda uid: ""
        )
        for source in self.sources:
            self.sources.look_again(source.kind.group, source.kind.kind)

    async def take(self, term: int | None = None) -> None:
        """One turn inward."""
        await self.mirror.turn(self.term if term is None else term, self.hub.hub.settings.intake)
        await self.deletions.turn(self.term)

    async def create(self, document: dict[str, Any]) -> dict[str, Any]:
        """As a user does; returns when the cache shows it."""
        made = await self.kube.create(document, field_manager=FIELDS)
        await self.shows(made)
        return made

    async def patch(self, obj: dict[str, Any], change: dict[str, Any], part: str = "") -> None:
        """As a user does; returns when the cache shows it."""
        metadata = obj["metadata"]
        made = await self.kube.merge_patch(
            obj["apiVersion"],
            obj["kind"],
            metadata.get("namespace") or "",
            metadata["name"],
            change,
            field_manager=FIELDS,
            subresource=part or None,
        )
        await self.shows(made)

    async def live(self, obj: dict[str, Any]) -> dict[str, Any]:
        """The object as the API server has it."""
        metadata = obj["metadata"]
        return await self.kube.get(
            obj["apiVersion"], obj["kind"], metadata.get("namespace") or "", metadata["name"]
        )

    async def shows(self, obj: dict[str, Any]) -> None:
        """Wait until the cache shows this version, or a later one."""
        version = int(obj["metadata"]["resourceVersion"])

        async def shown() -> bool:
            place = self.sources.place_of(obj["metadata"]["uid"])
            found = None if place is None else self.sources.get(place)
            return found is not None and int(found[1]["metadata"]["resourceVersion"]) >= version

        await until(shown)

    async def level(self, obj: dict[str, Any]) -> None:
        """Wait until the cache shows what the API server has."""
        await self.shows(await self.live(obj))

    async def job(self, obj: dict[str, Any]) -> Workload | None:
        """The hub's row of a hub Job."""
        return await self.hub.hub.read(workloads.get, obj["metadata"]["uid"])

    async def object(self, obj: dict[str, Any]) -> StoredObject | None:
        """The hub's row of any other object."""
        return await self.hub.hub.read(objects.get, obj["metadata"]["uid"])

    async def lost(self, document: dict[str, Any], origin: Origin = Origin.HUB_CLUSTER) -> str:
        """The hub has this object, and the hub cluster does not; its uid."""
        uid = f"lost-{document['kind']}-{document['metadata']['name']}"
        now = self.hub.hub.clock.now()
        given = draft(parse(document), now, origin=origin, uid=uid, created_at=now)
        (applied,) = await self.hub.write(apply_documents, [given], self.hub.hub.settings.intake)
        assert applied.error is None, applied.error
        return applied.uid

    def select(self, kind: str, namespace: str, *names: str) -> None:
        """A placement selects these objects."""
        self.index.put(a_placement_row(kind, namespace, *names))


@contextlib.asynccontextmanager
async def parts(
    directory: Path,
    kubeconfig: Path,
    kinds: Sequence[Mirrored] = KINDS,
    clock: ManualClock | None = None,
) -> AsyncIterator[Parts]:
    """The parts between a fresh hub and the API server of `kubeconfig`; without `clock` time passes."""
    async with (
        running_hub(directory, clock or SystemClock()) as hub,
        await KubeClient.connect(kubeconfig) as kube,
    ):
        it = Parts(hub, kube, await hub.write(leadership.seize, "test"))
        for kind in kinds:
            await it.sources.add(kind)
        await it.sources.synced()
        try:
            yield it
        finally:
            await it.sources.close()


@contextlib.asynccontextmanager
async def on_simulated(
    directory: Path,
    kinds: Sequence[Mirrored] = KINDS,
    clock: ManualClock | None = None,
    *,
    policies: bool = True,
) -> AsyncIterator[tuple[Parts, SimCluster]]:
    """The parts on a simulated hub cluster that has a namespace `lab`, and the hub's kinds if asked for.

    `policies`: those about Jobs and other work are installed there.
    """
    make = with_hub_kinds if set(kinds) - set(KINDS) else without_hub_kinds
    # One credential is the hub's and the people's here.
    cluster = make(mirror_policy=False, job_policy=policies)
    await cluster.start()
    try:
        kubeconfig = directory / "hub.kubeconfig"
        kubeconfig.write_text(cluster.kubeconfig_text())
        async with parts(directory, kubeconfig, kinds, clock) as it:
            await it.kube.create(
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lab"}},
                field_manager=FIELDS,
            )
            yield it, cluster
    finally:
        await cluster.stop()


def a_placement_row(kind: str, namespace: str, *names: str) -> StoredObject:
    """A ResourcePlacement that selects objects of a core kind by name, as the hub keeps it."""
    selectors = [{"group": "", "version": "v1", "kind": kind, "name": each} for each in names]
    return an_object(
        "a-placement",
        api_group=PLACEMENT,
        kind="ResourcePlacement",
        namespace=namespace,
        spec={"resourceSelectors": selectors},
    )


def a_config_map(name: str = "one") -> dict[str, Any]:
    """A ConfigMap of namespace `lab`."""
    metadata = {"name": name, "namespace": "lab"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "b"}}


def a_job(name: str = "one", **metadata: Any) -> dict[str, Any]:
    """A Job that is the hub's."""
    container = {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "lab", **metadata},
        "spec": {
            "suspend": True,
            "managedBy": labels.JOB_CONTROLLER,
            "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
        },
    }


def a_queue(name: str = "main", **spec: Any) -> dict[str, Any]:
    """A ClusterQueue."""
    return {
        "apiVersion": f"{KUEUE}/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": name},
        "spec": {"namespaceSelector": {}, **spec},
    }


def a_check(name: str = "budget", controller: str = "example.com/budget") -> dict[str, Any]:
    """An AdmissionCheck of somebody's controller."""
    return {
        "apiVersion": f"{KUEUE}/v1beta2",
        "kind": "AdmissionCheck",
        "metadata": {"name": name},
        "spec": {"controllerName": controller},
    }
