"""`POST /v1/plan`: where documents would go, were they applied now, and that nothing comes of asking."""

from pathlib import Path
from typing import Any

import pytest

from tests.api.planning import a_batch, planned
from tests.api.scheduling import scheduling
from tests.api.serving import Served
from tests.services.hubs import Running, a_pool, a_queue

pytestmark = pytest.mark.anyio

CPU = "resources.kubernetes-fleet.io/available-cpu"
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "shop"}}


def a_placement(name: str = "p", *, select: Any = None, **policy: Any) -> dict[str, Any]:
    selector = select or {"group": "", "version": "v1", "kind": "ConfigMap", "name": "c"}
    return {
        "apiVersion": "placement.kubernetes-fleet.io/v1",
        "kind": "ResourcePlacement",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"resourceSelectors": [selector], "policy": policy},
    }


def best(count: int = 1) -> dict[str, Any]:
    sorter = {"propertySorter": {"name": CPU, "sortOrder": "Descending"}}
    preferred = {
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 50, "preference": sorter}]
    }
    return {
        "placementType": "PickN",
        "numberOfClusters": count,
        "affinity": {"clusterAffinity": preferred},
    }


class Fleet:
    """A served hub with members `c` (100 cpu) and `d` (45 cpu), and queue `open` of 60 cpu."""

    def __init__(self, hub: Served, live: Running) -> None:
        self.hub, self.live = hub, live


@pytest.fixture
async def fleet(tmp_path: Path):
    async with scheduling(tmp_path) as (hub, live):
        await live.cluster("d", a_pool(cpu="45", memory="100Gi"))
        queue = a_queue("open", quota={"cpu": "60", "memory": "100Gi"})
        await live.apply(*queue)
        await live.settle()
        hub.app.state.schedule_index = lambda: live.scheduler.index
        yield Fleet(hub, live)


async def test_a_placement_is_told_every_clusters_score_or_refusal(fleet: Fleet):
    """With the objects of the same documents; and nothing of them is there afterwards."""
    told = await planned(fleet.hub, CONFIG, a_placement(**best()))
    (found,) = told["placements"]
    assert (found["fulfilled"], found["selectedCount"]) == (True, 1)
    assert found["selected"][0]["name"] == "c"
    assert [(c["name"], c["selected"], c["affinityScore"]) for c in found["clusters"]] == [
        ("c", True, 50),
        ("d", False, 0),
    ]
    assert (
        'Cluster "d" was not picked: its score is not high enough'
        in found["clusters"][1]["message"]
    )
    stored = await fleet.hub.admin.get("/v1/objects/core/ConfigMap")
    assert stored.json()["items"] == []
    assert (await fleet.hub.admin.get("/v1/placements")).json()["items"] == []


async def test_what_is_refused_says_why(fleet: Fleet):
    """A cluster that does not satisfy a required term, and one that is in no fleet."""
    term = {
        "propertySelector": {
            "matchExpressions": [{"name": CPU, "operator": "Ge", "values": ["50"]}]
        }
    }
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"clusterSelectorTerms": [term]}}
    told = await planned(
        fleet.hub,
        a_placement("a", affinity={"clusterAffinity": required}),
        a_placement("b", placementType="PickFixed", clusterNames=["c", "x"]),
    )
    first, second = told["placements"]
    assert first["message"].startswith("it selects nothing")
    assert f"required {CPU} Ge 50, it is 45" in first["clusters"][1]["message"]
    assert not second["fulfilled"]
    assert any("it is not in the fleet" in each["message"] for each in second["clusters"])


async def test_a_whole_namespace_of_the_documents_is_selected(fleet: Fleet):
    """With what is in it, by a label that the Namespace has there; other namespaces are not."""
    space = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "shop", "labels": {"t": "1"}},
    }
    other = {**CONFIG, "metadata": {"name": "other", "namespace": "elsewhere"}}
    selector = {
        "group": "",
        "version": "v1",
        "kind": "Namespace",
        "labelSelector": {"matchLabels": {"t": "1"}},
    }
    whole = {
        "apiVersion": "placement.kubernetes-fleet.io/v1",
        "kind": "ClusterResourcePlacement",
        "metadata": {"name": "p"},
        "spec": {"resourceSelectors": [selector], "policy": {"placementType": "PickAll"}},
    }
    told = await planned(fleet.hub, space, CONFIG, other, whole)
    assert [each["name"] for each in told["placements"][0]["selected"]] == ["c", "shop"]


async def test_a_job_is_told_whether_it_fits_and_where(fleet: Fleet):
    """Quota and room now; each cluster with its score, or what it lacks."""
    told = await planned(
        fleet.hub, a_batch("small"), a_batch("wide", cpu="50"), a_batch("huge", cpu="99")
    )
    small, wide, huge = told["jobs"]
    assert small["admitted"]
    assert small["cluster"] in {"c", "d"}
    assert all(each["fits"] and isinstance(each["score"], int) for each in small["clusters"])
    assert (wide["admitted"], wide["cluster"]) == (True, "c")
    assert [each["fits"] for each in wide["clusters"]] == [True, False]
    assert "cpu" in wide["clusters"][1]["message"]
    assert not huge["admitted"]
    assert huge["reason"] == "ExceedsMaxQuota"
    assert huge["clusters"][0]["fits"]
    assert told["complete"]
    jobs = await fleet.hub.admin.get("/v1/jobs")
    assert jobs.json()["items"] == []


async def test_what_is_promised_is_not_there_any_more(fleet: Fleet):
    """Jobs that were placed and have no pods yet are counted, for Jobs and for placements."""
    await fleet.hub.admin.post("/v1/jobs", json=a_batch("first", cpu="58"))
    await fleet.live.settle()
    told = await planned(fleet.hub, a_placement(**best()), a_batch("second", cpu="2"))
    (found,) = told["placements"]
    assert [(c["name"], c["affinityScore"]) for c in found["clusters"]] == [("d", 50), ("c", 0)]
    again = await planned(fleet.hub, a_batch("third", cpu="46"))
    assert again["jobs"][0]["reason"] == "WaitingForQuota"
    assert not any(each["fits"] for each in again["jobs"][0]["clusters"])


async def test_a_local_queue_of_the_same_documents_is_found(fleet: Fleet):
    """The Job is asked about in the queue that would be made with it, whichever comes first."""
    *_, door = a_queue("open")
    door["metadata"]["name"] = "fresh"
    (job,) = (await planned(fleet.hub, a_batch(queue="fresh"), door))["jobs"]
    assert (job["clusterQueue"], job["reason"]) == ("open", "Fits")


async def test_a_cluster_queue_of_the_same_documents_is_named(fleet: Fleet):
    """Nothing is known of its quota: the answer says what to apply first, not that a queue is missing."""
    flavor, queue, door = a_queue("coming")
    (job,) = (await planned(fleet.hub, flavor, queue, door, a_batch(queue="coming")))["jobs"]
    assert job["reason"] == "QueuePlanned"
    assert "its ClusterQueue coming is among these documents" in job["message"]


@pytest.mark.parametrize(
    ("queue", "namespace", "reason"),
    [("missing", "team-a", "QueueNotFound"), ("", "elsewhere", "DefaultQueue")],
)
async def test_without_a_queue_clusters_are_told_all_the_same(
    fleet: Fleet, queue: str, namespace: str, reason: str
):
    """A queue that is not there lets nothing in; a namespace without one gets the default one."""
    (job,) = (await planned(fleet.hub, a_batch(queue=queue, namespace=namespace)))["jobs"]
    assert (job["admitted"], job["reason"]) == (False, reason)
    assert [each["fits"] for each in job["clusters"]] == [True, True]


async def test_a_name_that_is_taken_is_told(fleet: Fleet):
    """Such a Job would be changed, not placed."""
    await fleet.hub.admin.post("/v1/jobs", json=a_batch("there"))
    (job,) = (await planned(fleet.hub, a_batch("there")))["jobs"]
    assert job["reason"] == "AlreadyExists"


@pytest.mark.parametrize("queue_is_placed", [False, True])
async def test_a_placement_decides_for_the_jobs_of_placed_queues_alone(
    fleet: Fleet, queue_is_placed: bool
):
    """The plan of a Job in an ordinary queue shows every cluster, whatever placement selects the Job."""
    select = {"group": "batch", "version": "v1", "kind": "Job", "name": "j"}
    only = a_placement(select=select, placementType="PickFixed", clusterNames=["d"])
    only["metadata"]["namespace"] = "team-a"
    if queue_is_placed:
        queue = {
            "group": "kueue.x-k8s.io",
            "version": "v1beta2",
            "kind": "ClusterQueue",
            "name": "open",
        }
        nowhere = {"placementType": "PickFixed", "clusterNames": []}
        await fleet.live.apply(
            {
                "apiVersion": "placement.kubernetes-fleet.io/v1",
                "kind": "ClusterResourcePlacement",
                "metadata": {"name": "queues"},
                "spec": {"resourceSelectors": [queue], "policy": nowhere},
            }
        )
        await fleet.live.settle()
    told = await planned(fleet.hub, a_batch(), only)
    fits = {each["name"]: each["fits"] for each in told["jobs"][0]["clusters"]}
    assert fits == {"c": not queue_is_placed, "d": True}


async def test_a_placement_for_several_clusters_places_no_job(fleet: Fleet):
    """By name it is refused; one that is for one cluster leaves the Job to its queue."""
    select = {"group": "batch", "version": "v1", "kind": "Job", "name": "j"}
    job = a_batch(namespace="shop")
    told = await planned(fleet.hub, job, a_placement(select=select))
    assert told["placements"][0]["reason"] == "JobNeedsOneCluster"
    told = await planned(fleet.hub, job, a_placement(select=select, **best()))
    assert told["placements"][0]["reason"] == "JobsAlone"


async def test_a_document_that_can_not_be_read_refuses_the_whole(fleet: Fleet):
    """And says which it is."""
    bad = a_placement(placementType="PickN")
    reply = await fleet.hub.admin.post("/v1/plan", json=[CONFIG, bad])
    assert reply.status_code == 422
    assert reply.json()["errors"][0]["field"] == "[1].spec.policy.numberOfClusters"
    assert reply.json()["detail"].startswith("document 2 (ResourcePlacement shop/p): spec.policy")


async def test_a_plan_is_bounded_and_for_administrators(fleet: Fleet):
    """Two hundred documents; it costs the engine time, so viewers do not ask."""
    many = [{**CONFIG, "metadata": {"name": f"c{i}", "namespace": "shop"}} for i in range(201)]
    reply = await fleet.hub.admin.post("/v1/plan", json=many)
    assert (reply.status_code, reply.json()["code"]) == (413, "TooManyDocuments")
    assert (await planned(fleet.hub, CONFIG))["placements"] == []
    assert (await fleet.hub.viewer.post("/v1/plan", json=[CONFIG])).status_code == 403


async def test_a_rebalance_is_shown_and_carried_out(fleet: Fleet):
    """Of either kind of placement; without `carryOut` it is only shown, and viewers do not ask."""
    path = "/v1/placements/shop/p/rebalance"
    assert (await fleet.hub.admin.post(path)).status_code == 404
    await fleet.hub.admin.post("/v1/apply", json=[CONFIG, a_placement(**best())])
    for body in (None, {}, {"carryOut": False}, {"carryOut": True}):
        reply = await fleet.hub.admin.post(path, json=body)
        assert reply.status_code == 200, reply.text
        assert reply.json()["carriedOut"] is False
        assert reply.json()["message"] == "nothing of it is placed yet"
    assert (await fleet.hub.admin.post("/v1/placements/p/rebalance")).status_code == 404
    assert (await fleet.hub.viewer.post(path)).status_code == 403


def an_envelope(*inner: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "placement.kubernetes-fleet.io/v1beta1",
        "kind": "ResourceEnvelope",
        "metadata": {"name": "e", "namespace": "shop"},
        "data": {f"m{index}": each for index, each in enumerate(inner)},
    }


def an_override(value: str, path: str = "/data", name: str = "o") -> dict[str, Any]:
    patch = {"op": "add", "path": path, "value": {"a": value}}
    return {
        "apiVersion": "placement.kubernetes-fleet.io/v1beta1",
        "kind": "ResourceOverride",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {
            "resourceSelectors": [
                {"group": "", "version": "v1", "kind": "ConfigMap", "name": "c"}
            ],
            "policy": {"overrideRules": [{"clusterSelector": {}, "jsonPatchOverrides": [patch]}]},
        },
    }


OF_ENVELOPE = {
    "group": "placement.kubernetes-fleet.io",
    "version": "v1beta1",
    "kind": "ResourceEnvelope",
    "name": "e",
}


async def rendered(hub: Served, query: str, *documents: dict[str, Any]) -> dict[str, Any]:
    reply = await hub.admin.post(f"/v1/plan?{query}", json=list(documents))
    assert reply.status_code == 200, reply.text
    found: dict[str, Any] = reply.json()["placements"][0]
    return found


async def test_manifests_are_told_as_each_cluster_would_get_them(fleet: Fleet):
    """Out of envelopes, overridden, without what the hub writes; a Secret's values are marks."""
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s"},
        "stringData": {"k": "hush"},
    }
    found = await rendered(
        fleet.hub,
        "manifests=true",
        an_envelope(CONFIG, secret),
        an_override("${MEMBER-CLUSTER-NAME}"),
        a_placement(select=OF_ENVELOPE),
    )
    assert [(m["cluster"], m["kind"]) for m in found["manifests"]] == [
        ("c", "ConfigMap"), ("c", "Secret"), ("d", "ConfigMap"), ("d", "Secret"),
    ]  # fmt: skip
    first = found["manifests"][0]
    assert first["envelope"] == {"type": "ResourceEnvelope", "namespace": "shop", "name": "e"}
    assert first["overrides"] == ["ResourceOverride shop/o"]
    assert first["manifest"] == {**CONFIG, "data": {"a": "c"}}
    assert "hush" not in str(found)
    assert (found["faults"], found["manifestsLeft"]) == ([], 0)
    stored = await fleet.hub.admin.get("/v1/objects/core/ConfigMap")
    assert stored.json()["items"] == []


async def test_of_one_cluster_if_that_is_asked(fleet: Fleet):
    """One that does not exist is told; without manifests none are."""
    documents = (CONFIG, a_placement())
    found = await rendered(fleet.hub, "manifests=true&cluster=d", *documents)
    assert [m["cluster"] for m in found["manifests"]] == ["d"]
    assert (await rendered(fleet.hub, "", *documents))["manifests"] is None
    reply = await fleet.hub.admin.post("/v1/plan?manifests=true&cluster=x", json=list(documents))
    assert (reply.status_code, reply.json()["errors"][0]["field"]) == (422, "cluster")


async def test_what_can_not_be_made_is_told_for_each_cluster(fleet: Fleet):
    """With the override's name and why; the stored one gives way to the document of its name."""
    await fleet.live.apply(CONFIG, an_override("stored"))
    bad = an_override("x", path="/data/missing/deeper")
    found = await rendered(fleet.hub, "manifests=true", bad, a_placement())
    assert found["manifests"] == []
    assert [each["cluster"] for each in found["faults"]] == ["c", "d"]
    assert "ResourceOverride shop/o: add /data/missing/deeper" in found["faults"][0]["message"]
    found = await rendered(fleet.hub, "manifests=true", a_placement())
    assert [m["manifest"]["data"] for m in found["manifests"]] == [{"a": "stored"}] * 2


async def test_what_is_there_is_rendered_for_any_cluster(fleet: Fleet):
    """As it would be given now, picked or not; what is not there is told."""
    await fleet.live.apply(
        CONFIG, an_override("x"), a_placement("p", placementType="PickFixed", clusterNames=["c"])
    )
    await fleet.live.settle()
    reply = await fleet.hub.admin.get("/v1/placements/shop/p/manifests?cluster=d")
    assert reply.status_code == 200, reply.text
    told = reply.json()
    assert (told["selected"], told["message"]) == (
        False,
        "it was not picked: this is what it would get",
    )
    assert [m["manifest"]["data"] for m in told["manifests"]] == [{"a": "x"}]
    for path in (
        "shop/q/manifests?cluster=c",
        "q/manifests?cluster=c",
        "shop/p/manifests?cluster=x",
    ):
        assert (await fleet.hub.admin.get(f"/v1/placements/{path}")).status_code == 404
    assert (
        await fleet.hub.viewer.get("/v1/placements/shop/p/manifests?cluster=c")
    ).status_code == 403


async def test_an_answer_is_bounded(fleet: Fleet):
    """What finds no room is counted."""
    large = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{n}", "namespace": "shop"},
         "data": {"a": "x" * 600_000}}
        for n in range(3)
    ]  # fmt: skip
    every = {"group": "", "version": "v1", "kind": "ConfigMap"}
    await fleet.live.apply(*large)
    found = await rendered(fleet.hub, "manifests=true", a_placement(select=every))
    assert (len(found["manifests"]), found["manifestsLeft"]) == (3, 3)
