"""The guide on the hub cluster: applied, and read back as a test waits for it."""

from hub.store import objects, workloads
from tests.bridge.hub_cluster import World, until
from tests.services.placements.fleet import GUIDE

CRDS = "apiextensions.k8s.io/v1"
CRD = "resourceplacements.placement.kubernetes-fleet.io"
SHOP = """
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {color: blue}
---
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ResourcePlacement
metadata: {name: everywhere, namespace: shop}
spec:
  resourceSelectors: [{group: "", version: v1, kind: ConfigMap, name: settings}]
"""


async def apply_guide(it: World, last: int = 6) -> None:
    await until(lambda: it.get("CustomResourceDefinition", CRD, version=CRDS))
    for number in range(1, last + 1):
        (file,) = GUIDE.glob(f"*{number}-*.yaml")
        await it.apply(file.read_text())


async def workload(it: World, name: str):
    found = await it.hub.hub.read(workloads.live_by_name, [("compute-jobs", name)])
    return found.get(("compute-jobs", name))


async def suspended(it: World):
    job = await it.get("Job", "mock-workload", "compute-jobs")
    conditions = (job.get("status") or {}).get("conditions") or ()
    return job if any(c["type"] == "Suspended" for c in conditions) else None


async def condition(it: World, kind: str):
    job = await it.get("Job", "mock-workload", "compute-jobs")
    conditions = (job.get("status") or {}).get("conditions") or ()
    return job if any(c["type"] == kind and c["status"] == "True" for c in conditions) else None


async def status(it: World, field: str, value: object):
    job = await it.get("Job", "mock-workload", "compute-jobs")
    return (job.get("status") or {}).get(field) == value


async def absent(it: World, kind: str, name: str, namespace: str = ""):
    return await it.get(kind, name, namespace) is None


async def shop(it: World) -> None:
    await until(lambda: it.get("CustomResourceDefinition", CRD, version=CRDS))
    await it.apply(SHOP)


async def mirrored(it: World, kind: str, namespace: str, name: str):
    return await it.hub.hub.read(objects.find, "", kind, namespace, name)
