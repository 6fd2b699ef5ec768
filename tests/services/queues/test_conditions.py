"""What queues say of themselves: Active with Kueue's reasons, and flavors that no node carries."""

from pathlib import Path
from typing import Any

import pytest

from hub.domain.fleet.clusters import Cluster, with_report
from hub.domain.queueing.eligibility import Inactive
from hub.domain.quota.declared import Flavor, LocalQueue
from hub.services.queues import unreachable_flavors
from hub.services.queues.conditions import (
    cluster_queue_conditions,
    inactivity_of,
    local_queue_conditions,
)
from shared.documents import Json
from tests.services.http_hub import http_hub
from tests.services.hubs import a_job, a_pool, a_queue

pytestmark = pytest.mark.anyio

A100 = Flavor("a100", labels=(("gpu-type", "a100"),))


def a_cluster(labels: dict[str, str] | None = None, revision: int = 1, *pools: Json) -> Cluster:
    """A member whose only node has these labels, as grouped by keys of `revision`."""
    report = {"pools_revision": revision, "pools": [a_pool(cpu="8", labels=labels)]}
    return with_report(Cluster("north"), report, pools, {"gpu-type": 1})


def queue(*flavors: str, **spec: Any) -> dict[str, Any]:
    listed = [{"name": name, "resources": []} for name in flavors]
    return {"resourceGroups": [{"coveredResources": [], "flavors": listed}], **spec}


def test_a_label_that_no_node_has_is_told():
    """nodeLabels gpu-type=a100 where nodes have gpu-type=h100."""
    found = unreachable_flavors.unreachable(
        [A100], [a_cluster({"gpu-type": "h100"})], {"gpu-type": 1}
    )
    assert found == {"a100": "gpu-type=a100"}


def test_one_node_of_the_fleet_is_enough():
    """A flavor that any member carries is found."""
    fleet = [a_cluster({"gpu-type": "h100"}), a_cluster({"gpu-type": "a100"})]
    assert unreachable_flavors.unreachable([A100], fleet, {"gpu-type": 1}) == {}


@pytest.mark.parametrize(
    ("fleet", "since"),
    [
        ([], {"gpu-type": 1}),
        ([Cluster("silent")], {"gpu-type": 1}),
        ([a_cluster(revision=1)], {"gpu-type": 2}),
        ([a_cluster()], {}),
    ],
    ids=[
        "no members",
        "none has reported",
        "grouped by older keys",
        "the key is not asked for yet",
    ],
)
def test_what_is_not_known_is_not_told(fleet: list[Cluster], since: dict[str, int]):
    """No alarm before members have reported what the flavor is about."""
    assert unreachable_flavors.unreachable([A100], fleet, since) == {}


def test_a_pool_that_may_grow_carries_a_flavor():
    """Nodes that an autoscaled pool would add count."""
    pool = {
        "name": "gpu", "maxNodes": 3, "labels": {"gpu-type": "a100"}, "allocatable": {"cpu": "8"}
    }  # fmt: skip
    assert (
        unreachable_flavors.unreachable([A100], [a_cluster(None, 1, pool)], {"gpu-type": 1}) == {}
    )


def test_the_queue_says_which_label_is_missing():
    """In a condition of its own and in the message of Active, which stays True."""
    active, found = cluster_queue_conditions(
        queue("spot", "a100"), None, {"a100": "gpu-type=a100"}
    )
    text = "ResourceFlavor a100: no member has nodes with gpu-type=a100"
    assert (active["status"], active["reason"]) == ("True", "Ready")
    assert active["message"] == f"Can admit new workloads; {text}"
    assert (found["type"], found["status"], found["message"]) == ("NodesFound", "False", text)


def test_a_queue_that_does_not_use_the_flavor_says_nothing():
    """It concerns those who would wait for it."""
    said = cluster_queue_conditions(queue("spot"), None, {"a100": "gpu-type=a100"})
    assert [each["type"] for each in said] == ["Active"]


@pytest.mark.parametrize(
    ("queues", "stop_policy", "reason"),
    [
        ({}, "None", "ClusterQueueDoesNotExist"),
        ({}, "Hold", "Stopped"),
        ({"all": None}, "None", "Ready"),
        ({"all": None}, "Hold", "Stopped"),
        ({"all": Inactive("Stopped", "Hold")}, "None", "ClusterQueueIsInactive"),
    ],
)
def test_a_local_queue_is_active_where_its_cluster_queue_is(
    queues: dict[str, Inactive | None], stop_policy: str, reason: str
):
    """Kueue's reasons of a LocalQueue's condition Active."""
    (said,) = local_queue_conditions(LocalQueue("team-a", "all", "all", stop_policy), queues)
    assert said["reason"] == reason


@pytest.mark.parametrize(
    ("spec", "reason", "message"),
    [
        ({"stopPolicy": "Hold", "cohortName": "a"}, "Stopped", "stopPolicy is Hold"),
        ({"cohortName": "a"}, "CohortCycle", "cohorts form a cycle: a -> a"),
        ({}, "FlavorNotFound", "ResourceFlavors not found: spot"),
    ],
)
def test_of_several_reasons_the_queue_gives_the_first_of_kueues(
    spec: dict[str, str], reason: str, message: str
):
    """Stopped goes before what is missing: in condition Active as for the workloads that wait."""
    whole = queue("spot") | spec
    inactive = inactivity_of(whole, set(), {"a": ("a", "a")}, {})
    (active,) = cluster_queue_conditions(whole, inactive, {})
    assert (active["reason"], active["message"]) == (reason, message)


async def test_the_typo_is_told_by_queue_and_job(tmp_path: Path):
    """The queueing article's case: the queue's condition and the job's reason name the label."""
    text = "no member has nodes with gpu-type=a100"
    async with http_hub(tmp_path) as it:
        await it.hub.apply(*a_queue("gpu", flavor={"nodeLabels": {"gpu-type": "a100"}}))
        north = a_pool(cpu="8", labels={"gpu-type": "h100"})
        await it.hub.cluster("north", north, pools_revision=9)
        (uid,) = await it.hub.apply(a_job("train", queue="gpu"))
        await it.hub.settle()
        index = it.hub.scheduler.index
        found = unreachable_flavors.unreachable(
            index.routes.flavors.values(), list(index.members.clusters.values()), index.keys.since
        )
        await it.hub.hub.write(unreachable_flavors.note, found, 1)
        shown = await it.get("/v1/queues/gpu")
        assert text in " ".join(c["message"] for c in shown["conditions"])
        assert text in (await it.get(f"/v1/jobs/{uid}/explain"))["message"]
        name = (await it.get("/v1/workloads"))["items"][0]["metadata"]["name"]
        told = (await it.get(f"/v1/workloads/team-a/{name}"))["status"]["conditions"][0]
        assert told["message"] == f"NoClusterFits: {text}"
