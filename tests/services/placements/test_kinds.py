"""Placements and jobs of kinds that operators run: selected by group and kind, placed as Jobs are."""

import pytest

from hub.store import workloads
from tests.services.members.hubs import running_hub
from tests.services.placements.fleet import PLACED_QUEUE, Fleet
from tests.services.placements.shop import JOB, NAMESPACE, placement_of_the_namespace

pytestmark = pytest.mark.anyio

QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: default}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: default}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: default, resources: [{name: cpu, nominalQuota: 100}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: default, namespace: shop}
spec: {clusterQueue: default}
"""
JOBSET = """
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: one, namespace: shop, labels: {kueue.x-k8s.io/queue-name: default, app: one}}
spec:
  replicatedJobs:
  - name: w
    template:
      spec:
        template:
          spec:
            restartPolicy: Never
            containers: [{name: main, image: busybox, resources: {requests: {cpu: "1"}}}]
"""
OF_JOB = "group: batch, version: v1, kind: Job"
OF_JOBSET = "group: jobset.x-k8s.io, version: v1alpha2, kind: JobSet"


def placement_of(selector: str) -> str:
    """A ResourcePlacement in Namespace shop on m2."""
    return f"""
apiVersion: placement.kubernetes-fleet.io/v1
kind: ResourcePlacement
metadata: {{name: pick, namespace: shop}}
spec:
  resourceSelectors: [{{{selector}}}]
  policy: {{placementType: PickFixed, clusterNames: [m2]}}
"""


async def placement_of_job(tmp_path, *last: str) -> tuple[str, list[str]]:
    """Whether the job `one` has the placement ("this"), and version and kind of what that selects.

    `last`: the placement and the job, in the order in which they come.
    """
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1", "m2")
        for each in (PLACED_QUEUE, NAMESPACE, QUEUES, *last):
            await fleet.apply(each)
            await fleet.turn()
        found = await hub.hub.read(workloads.live_by_name, [("shop", "one")])
        row = found["shop", "one"]
        whole = any("ClusterResourcePlacement" in each for each in last)
        at = ("ResourcePlacement", "pick", "shop")
        at = ("ClusterResourcePlacement", "shop", "") if whole else at
        status = await fleet.status(*at)
        told = [f"{e['version']} {e['kind']}" for e in status.get("selectedResources") or ()]
        uid = (await fleet.object(*at)).uid
        return ("this" if row.placement == uid else row.placement), told


@pytest.mark.parametrize(
    "selector",
    [f"{OF_JOB}, name: one", f"{OF_JOB}, labelSelector: {{matchLabels: {{app: one}}}}"],
    ids=["name", "labels"],
)
async def test_a_selector_of_jobs_takes_no_jobset_of_that_name(tmp_path, selector):
    """A name is one job's in a namespace, whatever its kind; a selector means one kind."""
    assert await placement_of_job(tmp_path, JOBSET, placement_of(selector)) == ("", [])


@pytest.mark.parametrize(
    "selector",
    [f"{OF_JOBSET}, name: one", f"{OF_JOBSET}, labelSelector: {{matchLabels: {{app: one}}}}"],
    ids=["name", "labels"],
)
async def test_a_selector_of_jobsets_takes_the_jobset_of_a_placed_queue(tmp_path, selector):
    """It waits for its placement as a Job does, and the placement names it by its own kind."""
    found = await placement_of_job(tmp_path, placement_of(selector), JOBSET)
    assert found == ("this", ["v1alpha2 JobSet"])


@pytest.mark.parametrize(
    ("job", "kind"), [(JOB, "v1 Job"), (JOBSET, "v1alpha2 JobSet")], ids=["job", "jobset"]
)
async def test_a_whole_namespace_has_its_jobs_of_every_kind(tmp_path, job, kind):
    """A JobSet in a placed ClusterQueue does not wait for ever."""
    placement, selected = await placement_of_job(tmp_path, placement_of_the_namespace(), job)
    assert placement == "this"
    assert kind in selected
