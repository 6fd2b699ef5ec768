"""Workloads and pending positions over HTTP, in the shapes of Kueue's APIs."""

from pathlib import Path
from typing import Any

import pytest

from tests.services.fair_usage import by_usage, consumed, shared, submit
from tests.services.http_hub import HttpHub, http_hub
from tests.services.hubs import a_job, a_pool, a_queue

pytestmark = pytest.mark.anyio
VISIBILITY = "/apis/visibility.kueue.x-k8s.io/v1beta2"


def high(name: str = "high", value: int = 100) -> dict[str, Any]:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "WorkloadPriorityClass",
        "metadata": {"name": name},
        "value": value,
    }


async def waiting(it: HttpHub) -> None:
    """One cpu of quota: `first` runs; `second`, `third` and, before them, `urgent` wait."""
    await it.hub.apply(*a_queue("all", quota={"cpu": "1"}), high())
    await it.hub.cluster("north", a_pool(cpu="8"))
    await it.hub.apply(a_job("first", queue="all"))
    await it.hub.settle()
    for name in ("second", "third"):
        it.hub.clock.advance(1)
        await it.hub.apply(a_job(name, queue="all"))
    labels = {"kueue.x-k8s.io/priority-class": "high"}
    await it.hub.apply(a_job("urgent", queue="all", labels=labels))
    await it.hub.settle()


def names(items: list[dict[str, Any]]) -> list[str]:
    return [each["metadata"]["ownerReferences"][0]["name"] for each in items]


async def test_pending_workloads_come_in_the_order_of_the_queue(tmp_path: Path):
    """Priority first, then age; positions count from 0; what runs is not among them."""
    async with http_hub(tmp_path) as it:
        await waiting(it)
        got = await it.get(f"{VISIBILITY}/clusterqueues/all/pendingworkloads")
        assert got["kind"] == "PendingWorkloadsSummary"
        assert got["apiVersion"] == "visibility.kueue.x-k8s.io/v1beta2"
        assert names(got["items"]) == ["urgent", "second", "third"]
        assert [i["positionInClusterQueue"] for i in got["items"]] == [0, 1, 2]
        first = got["items"][0]
        assert (first["priority"], first["localQueueName"]) == (100, "all")


async def test_offset_and_limit_cut_the_list_and_keep_positions(tmp_path: Path):
    """The second of three still is the second."""
    async with http_hub(tmp_path) as it:
        await waiting(it)
        path = f"{VISIBILITY}/clusterqueues/all/pendingworkloads"
        got = await it.get(path, offset=1, limit=1)
        assert names(got["items"]) == ["second"]
        assert got["items"][0]["positionInClusterQueue"] == 1


async def test_a_local_queue_shows_its_own_with_both_positions(tmp_path: Path):
    """Those of other namespaces are counted in positionInClusterQueue, and not shown."""
    async with http_hub(tmp_path) as it:
        await waiting(it)
        door = a_queue("all", namespace="team-b")[2]
        labels = {"kueue.x-k8s.io/priority-class": "high"}
        it.hub.clock.advance(1)
        await it.hub.apply(door, a_job("theirs", "team-b", queue="all"))
        await it.hub.apply(a_job("ours", "team-b", queue="all", labels=labels))
        await it.hub.settle()
        got = await it.get(f"{VISIBILITY}/namespaces/team-b/localqueues/all/pendingworkloads")
        assert names(got["items"]) == ["ours", "theirs"]
        found = [(i["positionInClusterQueue"], i["positionInLocalQueue"]) for i in got["items"]]
        assert found == [(1, 0), (4, 1)]


async def test_those_that_can_not_be_considered_come_last(tmp_path: Path):
    """A stopped LocalQueue's workloads are pending too."""
    async with http_hub(tmp_path) as it:
        await waiting(it)
        door = a_queue("all", namespace="team-b")[2]
        door["spec"]["stopPolicy"] = "Hold"
        await it.hub.apply(door, a_job("stopped", "team-b", queue="all"))
        await it.hub.settle()
        got = await it.get(f"{VISIBILITY}/clusterqueues/all/pendingworkloads")
        assert names(got["items"])[-1] == "stopped"
        assert got["items"][-1]["positionInClusterQueue"] == 3


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/clusterqueues/nowhere/pendingworkloads", 404, "NotFound"),
        ("/namespaces/team-a/localqueues/nowhere/pendingworkloads", 404, "NotFound"),
        ("/clusterqueues/all/pendingworkloads?limit=0", 422, "InvalidLimit"),
        ("/clusterqueues/all/pendingworkloads?offset=-1", 422, "InvalidNumber"),
    ],
)
async def test_a_question_that_makes_no_sense_is_refused(
    tmp_path: Path, path: str, status: int, code: str
):
    """With the hub's own problem and its code."""
    async with http_hub(tmp_path) as it:
        await it.hub.apply(*a_queue("all"))
        reply = await it.http.get(VISIBILITY + path)
        assert (reply.status_code, reply.json()["code"]) == (status, code)


async def test_every_job_has_a_workload(tmp_path: Path):
    """Newest first, with conditions, admission, and the pod template as it was sent."""
    async with http_hub(tmp_path) as it:
        await waiting(it)
        got = await it.get("/v1/workloads")
        assert got["kind"] == "WorkloadList"
        by_job = dict(zip(names(got["items"]), got["items"], strict=True))
        assert set(by_job) == {"first", "second", "third", "urgent"}
        first = by_job["first"]
        assert first["status"]["admission"]["clusterQueue"] == "all"
        assert first["status"]["clusterName"] == "north"
        (pod_set,) = first["spec"]["podSets"]
        assert pod_set["template"]["spec"]["containers"][0]["image"] == "busybox:1.36"


async def test_a_workload_is_found_by_its_name(tmp_path: Path):
    """What the list shows can be asked for; another suffix is nobody's."""
    async with http_hub(tmp_path) as it:
        await waiting(it)
        (listed,) = (await it.get("/v1/workloads", condition="Admitted"))["items"]
        name = listed["metadata"]["name"]
        assert await it.get(f"/v1/workloads/team-a/{name}") == listed
        other = await it.http.get(f"/v1/workloads/team-a/{name[:-5]}zzzzz")
        assert other.status_code == 404


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"condition": "QuotaReserved"}, ["first"]),
        ({"condition": "Admitted=False"}, ["urgent", "third", "second"]),
        ({"condition": "Evicted"}, []),
        ({"clusterQueue": "all", "state": "Pending"}, ["urgent", "third", "second"]),
        ({"clusterQueue": "other"}, []),
        ({"namespace": "team-b"}, []),
    ],
)
async def test_lists_are_narrowed(tmp_path: Path, query: dict[str, str], expected: list[str]):
    """By namespace, queue, ClusterQueue, state, and any condition."""
    async with http_hub(tmp_path) as it:
        await waiting(it)
        assert sorted(names((await it.get("/v1/workloads", **query))["items"])) == sorted(expected)


async def test_lists_go_on(tmp_path: Path):
    """A page's continue token asks for the next; the last has none."""
    async with http_hub(tmp_path) as it:
        await waiting(it)
        seen, token = [], ""
        while True:
            page = await it.get("/v1/workloads", limit=3, **({"continue": token} if token else {}))
            seen += names(page["items"])
            token = page["continue"]
            if not token:
                break
        assert sorted(seen) == ["first", "second", "third", "urgent"]


async def test_a_condition_that_does_not_exist_is_refused(tmp_path: Path):
    """InvalidCondition names those there are."""
    async with http_hub(tmp_path) as it:
        reply = await it.http.get("/v1/workloads", params={"condition": "Happy"})
        assert (reply.status_code, reply.json()["code"]) == (422, "InvalidCondition")
        assert "Admitted" in reply.json()["detail"]


async def test_where_usage_decides_it_decides_positions(tmp_path: Path):
    """The LocalQueue that used less stands first, whatever the priority."""
    async with http_hub(tmp_path, by_usage()) as it:
        await it.hub.apply(*shared("1", {"lq-a": "1", "lq-b": "1"}))
        await consumed(it.hub, {"lq-a": 10.0, "lq-b": 1.0})
        await submit(it.hub, "lq-a", "wa", priority="high")
        await submit(it.hub, "lq-b", "wb")
        await it.hub.settle()
        got = await it.get(f"{VISIBILITY}/clusterqueues/q/pendingworkloads")
        assert names(got["items"]) == ["wb", "wa"]
        for place, name in enumerate(("wb", "wa"), start=1):
            uid = got["items"][place - 1]["metadata"]["ownerReferences"][0]["uid"]
            told = await it.get(f"/v1/jobs/{uid}/explain")
            assert (name, told["position"]["inQueue"]) == (name, place)
