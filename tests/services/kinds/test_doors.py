"""Every door to the queue: dispatched kinds are taken, all others with pods and a queue are refused."""

import copy
import json
from typing import Any

import pytest

from hub.domain.workloads.origin import Origin
from hub.services.context.settings import Settings
from hub.services.reading.draft import Draft, draft
from shared.errors import Rejected
from shared.kinds.dispatched import DISPATCHED
from shared.kinds.registry import parse
from tests.api.serving import a_job, served
from tests.services.build import in_cohort
from tests.services.hubs import a_queue
from tests.services.kinds.fleet import (
    QUEUE,
    a_fleet,
    a_jobset,
    a_pytorchjob,
    a_raycluster,
    a_rayjob,
    a_rayservice,
    a_sparkapplication,
    a_template,
    an_appwrapper,
    an_lws,
)
from tests.store.build import START

pytestmark = pytest.mark.anyio
TAKEN = [
    a_jobset(),
    a_pytorchjob(),
    a_rayjob(),
    an_lws(),
    a_raycluster(),
    a_rayservice(),
    a_sparkapplication(),
    an_appwrapper(),
]


def of_kind(api_version: str, kind: str, **spec: Any) -> dict[str, Any]:
    """An object with pods that names a queue."""
    metadata = {"name": "one", "namespace": "team-a", "labels": {QUEUE: "q"}}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


POD = a_template(cpu="1")
CRON_JOB = of_kind("batch/v1", "CronJob", jobTemplate={"spec": {"template": POD}})
REFUSED = [
    of_kind("v1", "Pod", **POD["spec"]),
    of_kind("apps/v1", "Deployment", template=POD),
    of_kind("apps/v1", "StatefulSet", template=POD),
    of_kind("batch.volcano.sh/v1alpha1", "Job", tasks=[{"template": POD}]),
    of_kind("trainer.kubeflow.org/v1alpha1", "TrainJob", runtimeRef={"name": "torch"}),
    of_kind("argoproj.io/v1alpha1", "Workflow", templates=[{"container": {"image": "x"}}]),
    of_kind("tekton.dev/v1", "PipelineRun", pipelineSpec={"tasks": []}),
    of_kind("example.org/v1", "Swarm", agents={"template": POD}),
    of_kind("jobset.x-k8s.io/v1beta9", "JobSet", replicatedJobs=[{"template": POD}]),
]


@pytest.mark.parametrize("manifest", TAKEN, ids=lambda each: each["kind"])
async def test_rest_takes_the_dispatched_kinds(tmp_path, manifest):
    """Alone, in a batch and by apply: one job each, of its kind; a second one of the name is refused."""
    async with served(tmp_path, Settings()) as hub:
        for each in a_queue("q", quota={"cpu": "9", "memory": "9Gi"}):
            assert (await hub.admin.post("/v1/apply", json=each)).status_code == 200
        single = await hub.admin.post("/v1/jobs", json=manifest)
        assert (single.status_code, single.json()["kind"]) == (201, manifest["kind"])
        batch = await hub.admin.post("/v1/jobs:batch", json=[manifest])
        assert batch.json()["items"][0]["code"] == "AlreadyExists"
        again = await hub.admin.post("/v1/apply", json=manifest)
        assert again.json()["items"][0]["result"] == "unchanged"
        shown = await hub.admin.get(f"/v1/jobs/{single.json()['uid']}")
        assert shown.json()["manifest"]["kind"] == manifest["kind"]
        assert len((await hub.admin.get("/v1/jobs")).json()["items"]) == 1


async def test_a_taken_name_is_told_with_the_kind_that_has_it(tmp_path):
    """All jobs of a namespace have different names, whatever their kinds."""
    async with served(tmp_path, Settings()) as hub:
        for each in a_queue("q", quota={"cpu": "9", "memory": "9Gi"}):
            await hub.admin.post("/v1/apply", json=each)
        await hub.admin.post("/v1/jobs", json=a_jobset("one"))
        second = await hub.admin.post("/v1/jobs", json=a_pytorchjob("one"))
        assert second.json()["detail"].startswith("jobset team-a/one exists with uid ")


@pytest.mark.parametrize("manifest", REFUSED, ids=lambda each: each["apiVersion"] + each["kind"])
async def test_every_other_kind_with_pods_and_a_queue_is_refused_by_name(tmp_path, manifest):
    """At each door with one code; the words name the kind and a remedy."""
    async with served(tmp_path, Settings()) as hub:
        single = await hub.admin.post("/v1/jobs", json=manifest)
        batch = await hub.admin.post("/v1/jobs:batch", json=[manifest])
        applied = await hub.admin.post("/v1/apply", json=manifest)
        assert (single.status_code, single.json()["code"]) == (422, "NoAdapter")
        assert single.json()["errors"][0]["field"]
        assert manifest["kind"] in single.json()["detail"]
        assert batch.json()["items"][0]["code"] == "NoAdapter"
        assert "NoAdapter" in applied.text


@pytest.mark.parametrize(
    "manifest", [CRON_JOB, *REFUSED], ids=lambda each: each["apiVersion"] + each["kind"]
)
def test_the_bridge_refuses_them_too_by_label_and_by_annotation(manifest):
    """Whatever gets past the policies of the hub cluster."""
    by_annotation = copy.deepcopy(manifest)
    by_annotation["metadata"]["annotations"] = by_annotation["metadata"].pop("labels")
    for each in (manifest, by_annotation):
        with pytest.raises(Rejected) as refused:
            parse(each, strict=False, origin="hub-cluster")
        assert refused.value.code == "NoAdapter"


@pytest.mark.parametrize("manifest", TAKEN, ids=lambda each: each["kind"])
def test_an_object_is_read_alike_from_rest_and_from_the_hub_cluster(manifest):
    """Pod sets and form are the same; so an object that comes back equals the one that was applied."""

    def read(origin: Any) -> Draft:
        given = parse(copy.deepcopy(manifest), strict=False, origin=origin)
        came = Origin.REST if origin == "rest" else Origin.HUB_CLUSTER
        return draft(given, START, origin=came, uid="u")

    rest, there = read("rest"), read("hub-cluster")
    assert (rest.form, rest.pod_sets(), rest.hash) == (there.form, there.pod_sets(), there.hash)


async def test_a_kind_that_names_no_queue_is_no_job(tmp_path):
    """POST /v1/jobs asks for the queue; apply keeps it as an object, for placements."""
    async with served(tmp_path, Settings()) as hub:
        single = await hub.admin.post("/v1/jobs", json=a_jobset(queue=""))
        assert (single.status_code, single.json()["code"]) == (422, "QueueRequired")
        applied = await hub.admin.post("/v1/apply", json=a_jobset(queue=""))
        assert applied.json()["items"][0]["result"] == "created"
        (said,) = applied.json()["items"][0]["warnings"]
        assert "name a LocalQueue there to have it queued" in said
        assert (await hub.admin.get("/v1/jobs")).json()["items"] == []


async def test_a_fresh_hub_provides_the_queue_default_to_a_kind_that_names_it(tmp_path):
    """As to Jobs that name none; once an administrator has made queues, the others are named."""
    async with served(tmp_path, Settings()) as hub:
        single = await hub.admin.post("/v1/jobs", json=a_jobset(queue="default"))
        assert (single.status_code, single.json().get("queue")) == (201, "default"), single.text
        for each in in_cohort("a", "4"):
            await hub.admin.post("/v1/apply", json=each)
        late = await hub.admin.post("/v1/jobs", json=a_jobset("late", queue="default"))
        assert (late.status_code, late.json()["code"]) == (422, "QueueRequired")


async def test_a_queue_that_is_not_there_is_told_of_by_apply(tmp_path):
    """Of every kind alike; not where a later document of the same request makes it."""
    async with served(tmp_path, Settings()) as hub:
        for manifest in (a_jobset(queue="a"), a_job("j", queue="a")):
            space = manifest["metadata"]["namespace"]
            applied = await hub.admin.post("/v1/apply", json=manifest)
            (said,) = applied.json()["items"][0]["warnings"]
            assert f"LocalQueue {space}/a does not exist" in said
            assert f"the {manifest['kind']} waits until" in said
        space = a_jobset()["metadata"]["namespace"]
        assert space == "team-a"  # where `in_cohort` makes the LocalQueue
        both = [a_jobset("late", queue="b"), *in_cohort("b", "4")]
        text = "\n---\n".join(map(json.dumps, both))
        yaml = {"Content-Type": "application/yaml"}
        items = (await hub.admin.post("/v1/apply", content=text, headers=yaml)).json()["items"]
        assert [each.get("warnings") for each in items] == [None] * len(both)


@pytest.mark.parametrize("labels", [{}, {QUEUE: ""}])
async def test_a_queue_in_a_pod_template_alone_is_told_of_by_apply(tmp_path, labels):
    """No code reads it there; an empty name is no name."""
    manifest = a_pytorchjob(queue="")
    manifest["metadata"]["labels"] = labels
    worker = manifest["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]
    worker["metadata"] = {"labels": {QUEUE: "q"}}
    async with served(tmp_path, Settings()) as hub:
        applied = await hub.admin.post("/v1/apply", json=manifest)
        (item,) = applied.json()["items"]
        assert item["result"] == "created"
        assert item["warnings"][0].startswith(f"metadata.labels[{QUEUE}]: the PyTorchJob names no")


def test_a_queue_that_an_annotation_names_is_refused_with_the_annotation():
    """The field is the one that is to be taken off."""
    manifest = copy.deepcopy(REFUSED[0])
    manifest["metadata"]["annotations"] = manifest["metadata"].pop("labels")
    with pytest.raises(Rejected) as refused:
        parse(manifest)
    assert refused.value.field == f"metadata.annotations[{QUEUE}]"
    assert "Take the annotation off" in refused.value.detail


async def test_an_object_is_never_work_and_placed_at_once(tmp_path):
    """What is placed as it is can not be queued, and what is queued can not leave its queue."""
    async with served(tmp_path, Settings()) as hub:
        for each in a_queue("q"):
            await hub.admin.post("/v1/apply", json=each)
        await hub.admin.post("/v1/apply", json=a_jobset("placed", queue=""))
        queued = await hub.admin.post("/v1/jobs", json=a_jobset("placed"))
        assert (queued.status_code, queued.json()["code"]) == (409, "AlreadyExists")
        await hub.admin.post("/v1/jobs", json=a_jobset("queued"))
        left = await hub.admin.post("/v1/apply", json=a_jobset("queued", queue=""))
        assert "Immutable" in left.text


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"shutdownAfterJobFinishes": False}, "InvalidValue"),
        ({"ttlSecondsAfterFinished": "soon"}, "InvalidType"),
        ({"ttlSecondsAfterFinished": -1}, "OutOfRange"),
        ({"clusterSelector": {"a": "b"}}, "InvalidValue"),
    ],
)
async def test_what_a_definition_refuses_is_refused_with_its_reason(tmp_path, change, code):
    """So is what the queue could not account for."""
    rayjob = a_rayjob()
    rayjob["spec"] |= change
    async with served(tmp_path, Settings()) as hub:
        reply = await hub.admin.post("/v1/jobs", json=rayjob)
        assert (reply.status_code, reply.json()["code"]) == (422, code)
        assert reply.json()["errors"][0]["field"]


async def test_the_spec_of_a_taken_object_is_immutable(tmp_path):
    """Its labels may change: a priority class moves it in its queue."""
    async with a_fleet(tmp_path) as fleet:
        await fleet.apply(*a_queue("q"))
        (uid,) = await fleet.apply(a_jobset())
        larger = await fleet.try_apply(a_jobset(workers=9))
        assert larger.error is not None
        assert larger.error.code == "Immutable"
        labelled = a_jobset()
        labelled["metadata"]["labels"]["team"] = "blue"
        assert (await fleet.try_apply(labelled)).result == "configured"
        assert (await fleet.job(uid)).generation == 2


def test_every_dispatched_kind_is_one_that_a_field_holds():
    """The list that needs no jq is that of the definitions, Job apart."""
    from shared.workkinds.catalog import builtin_catalog
    from shared.workkinds.held_form import is_held_by_fields

    found = {
        (each.of.api_version, each.of.kind)
        for each in builtin_catalog()
        if is_held_by_fields(each)
    }
    assert found - {("batch/v1", "Job")} == DISPATCHED
