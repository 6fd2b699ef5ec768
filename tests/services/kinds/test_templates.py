"""Pod templates, counts and names of dispatched kinds: as a Job's, at every door, with the field."""

import copy
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from hub.domain.workloads.origin import Origin
from hub.services.context.settings import Settings
from hub.services.reading.draft import draft
from shared.errors import Rejected
from shared.kinds.registry import parse
from shared.workkinds.essentials import essentials
from tests.api.serving import served
from tests.bridge.kinds import bridged, in_lab
from tests.services.hubs import a_queue
from tests.services.kinds.fleet import a_jobset, a_pytorchjob, a_rayjob, a_template
from tests.store.build import START

pytestmark = pytest.mark.anyio
Json = dict[str, Any]
GPU = "nvidia.com/gpu"


def a_job() -> Json:
    """A Job with the pod template of the others."""
    spec = {"template": a_template(cpu="1")}
    return a_jobset() | {"apiVersion": "batch/v1", "kind": "Job", "spec": spec}


# By kind: an object, and the path of one of its pod templates.
TEMPLATES: dict[str, tuple[Callable[[], Json], str]] = {
    "Job": (a_job, "spec.template"),
    "JobSet": (a_jobset, "spec.replicatedJobs[1].template.spec.template"),
    "PyTorchJob": (a_pytorchjob, "spec.pytorchReplicaSpecs.Worker.template"),
    "RayJob": (a_rayjob, "spec.rayClusterSpec.workerGroupSpecs[0].template"),
}
CONTAINER = ".spec.containers[0]"


def _at(manifest: Any, path: str) -> Any:
    for step in filter(None, path.replace("[", ".").replace("]", "").split(".")):
        manifest = manifest[int(step)] if step.isdecimal() else manifest[step]
    return manifest


def _set(manifest: Json, path: str, value: Any) -> Json:
    way, _, last = path.rpartition(".")
    _at(manifest, way)[last] = value
    return manifest


def _resources(requests: Json, limits: Json) -> Json:
    return {
        "name": "main",
        "image": "ex/a:1",
        "resources": {"requests": requests, "limits": limits},
    }


def _twice() -> list[Json]:
    return [{"name": "main", "image": "ex/a:1"}, {"name": "main", "image": "ex/a:1"}]


# What is written below the template, the field at fault, and the code.
FAULTS = {
    "request-above-limit": (
        ".spec.containers",
        [_resources({"cpu": "2"}, {"cpu": "1"})],
        f"{CONTAINER}.resources.requests.cpu",
        "RequestAboveLimit",
    ),
    "two-of-one-name": (".spec.containers", _twice(), ".spec.containers[1].name", "Duplicate"),
    "no-name": (".spec.containers", [{"image": "ex/a:1"}], f"{CONTAINER}.name", "Required"),
    "no-image": (".spec.containers", [{"name": "a"}], f"{CONTAINER}.image", "InvalidImage"),
    "unknown": (".spec.containerz", [], ".spec.containerz", "UnknownField"),
    "restart-policy": (".spec.restartPolicy", "Perhaps", ".spec.restartPolicy", "InvalidRestartPolicy"),
    "half-a-gpu": (
        ".spec.containers",
        [_resources({GPU: "0.5"}, {GPU: "0.5"})],
        f"{CONTAINER}.resources.requests[{GPU}]",
        "FractionalExtended",
    ),
    "gpu-without-limit": (
        ".spec.containers",
        [_resources({GPU: "1"}, {GPU: "2"})],
        f"{CONTAINER}.resources.requests[{GPU}]",
        "ExtendedMismatch",
    ),
}  # fmt: skip
OF_API_SERVERS = {"unknown"}  # dropped by the hub cluster's, before the hub reads


@pytest.mark.parametrize("kind", TEMPLATES)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_pod_template_is_held_to_the_rules_of_a_jobs(kind, fault):
    """From REST and from the hub cluster: one code, and the field with the template's path before it."""
    made, path = TEMPLATES[kind]
    below, value, field, code = FAULTS[fault]
    manifest = _set(made(), path + below, value)
    origins: list[tuple[Any, str]] = [("rest", Origin.REST), ("hub-cluster", Origin.HUB_CLUSTER)]
    for origin, came in origins:
        if fault in OF_API_SERVERS and origin != "rest":
            continue
        with pytest.raises(Rejected) as refused:
            draft(parse(manifest, strict=origin == "rest", origin=origin), START, origin=came)
        assert (refused.value.code, refused.value.errors[0].field) == (code, path + field)


async def test_every_door_of_rest_refuses_it(tmp_path):
    """Alone, in a batch and by apply."""
    made, path = TEMPLATES["PyTorchJob"]
    below, value, field, code = FAULTS["request-above-limit"]
    manifest = _set(made(), path + below, value)
    async with served(tmp_path, Settings()) as hub:
        for each in a_queue("q"):
            await hub.admin.post("/v1/apply", json=each)
        single = await hub.admin.post("/v1/jobs", json=manifest)
        batch = await hub.admin.post("/v1/jobs:batch", json=[manifest])
        applied = await hub.admin.post("/v1/apply", json=manifest)
        for told in (single.json(), batch.json()["items"][0], applied.json()["items"][0]):
            assert (told["code"], told["errors"][0]["field"]) == (code, path + field)


async def test_the_bridge_refuses_it_with_an_event(tmp_path):
    """As it does a Job."""
    made, path = TEMPLATES["JobSet"]
    below, value, _, code = FAULTS["two-of-one-name"]
    async with bridged(tmp_path) as it:
        obj = await it.create(in_lab(_set(made(), path + below, value), "managedBy"))
        await it.take()
        uid = obj["metadata"]["uid"]
        assert (await it.job(obj), it.mirror.refusals[uid].code) == (None, code)
        it.writeback.note(uid)
        await it.writeback.turn()
        assert [each[2]["reason"] for each in it.events._queue] == [code]


WORKER = "spec.pytorchReplicaSpecs.Worker"
SECOND = "spec.replicatedJobs[1]"
INNER = f"{SECOND}.template.spec"
GROUP = "spec.rayClusterSpec.workerGroupSpecs[0]"
LONG = "a" * 60
OTHERS = [
    (a_pytorchjob, f"{WORKER}.restartPolicy", "Perhaps", f"{WORKER}.restartPolicy", "InvalidRestartPolicy"),
    (a_pytorchjob, f"{WORKER}.template", None, f"{WORKER}.template", "Required"),
    (a_pytorchjob, f"{WORKER}.replicas", "3", f"{WORKER}.replicas", "InvalidType"),
    (a_pytorchjob, f"{WORKER}.replicas", -1, f"{WORKER}.replicas", "OutOfRange"),
    (a_pytorchjob, "spec.pytorchReplicaSpecs", [], "spec.pytorchReplicaSpecs", "InvalidType"),
    (a_pytorchjob, "spec.pytorchReplicaSpecs.Helper", {}, "spec.pytorchReplicaSpecs.Helper", "UnknownField"),
    (a_pytorchjob, "spec.runPolicy", "x", "spec.runPolicy", "InvalidType"),
    (a_pytorchjob, "spec.runPolicy", {"suspend": "yes"}, "spec.runPolicy.suspend", "InvalidType"),
    (a_pytorchjob, "spec.runPolicy", {"managedBy": "a.io/b"}, "spec.runPolicy.managedBy", "ForbiddenField"),
    (a_pytorchjob, "metadata.name", "a.b", "metadata.name", "InvalidName"),
    (a_pytorchjob, "metadata.name", "1a", "metadata.name", "InvalidName"),
    (a_pytorchjob, "metadata.name", LONG, "metadata.name", "InvalidName"),
    (a_pytorchjob, "status", {"conditions": [1]}, "status", "ForbiddenField"),
    (a_jobset, "status", {"restarts": 1}, "status", "ForbiddenField"),
    (a_jobset, "spec.managedBy", "a.io/b", "spec.managedBy", "ForbiddenField"),
    (a_jobset, "spec.suspend", "no", "spec.suspend", "InvalidType"),
    (a_jobset, f"{SECOND}.name", "UP", f"{SECOND}.name", "InvalidName"),
    (a_jobset, f"{SECOND}.name", 7, f"{SECOND}.name", "InvalidName"),
    (a_jobset, f"{SECOND}.name", None, f"{SECOND}.name", "Required"),
    (a_jobset, f"{SECOND}.name", "driver", f"{SECOND}.name", "Duplicate"),
    (a_jobset, f"{SECOND}.name", "b" * 50, f"{SECOND}.name", "InvalidName"),
    (a_jobset, f"{SECOND}.replicas", "2", f"{SECOND}.replicas", "InvalidType"),
    (a_jobset, f"{INNER}.parallelism", "x", f"{INNER}.parallelism", "InvalidType"),
    (a_jobset, f"{INNER}.unheard", 1, f"{INNER}.unheard", "UnknownField"),
    (a_rayjob, f"{GROUP}.replicas", 1.5, f"{GROUP}.replicas", "InvalidType"),
    (a_rayjob, f"{GROUP}.groupName", "a b", f"{GROUP}.groupName", "InvalidName"),
    (a_rayjob, "metadata.name", "a" * 48, "metadata.name", "InvalidName"),
    (a_rayjob, "spec.submitterPodTemplate", {"spec": {}}, "spec.submitterPodTemplate.spec.restartPolicy",
     "InvalidRestartPolicy"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("made", "path", "value", "field", "code"),
    OTHERS,
    ids=[f"{p}-{c}" for _, p, _, _, c in OTHERS],
)
def test_what_lies_around_a_template_is_refused_with_its_field(made, path, value, field, code):
    """Counts, names of parts and of children, the fields that hold it and that name its manager."""
    with pytest.raises(Rejected) as refused:
        draft(parse(_set(made(), path, value)), START)
    assert (refused.value.code, refused.value.errors[0].field) == (code, field)


@pytest.mark.parametrize("spec", [[], "x", None])
def test_a_spec_that_is_no_object_is_told_without_the_words_of_jq(spec):
    """Its reader writes YAML."""
    with pytest.raises(Rejected) as refused:
        draft(parse(_set(a_pytorchjob(), "spec", spec)), START)
    assert (refused.value.code, refused.value.field) == ("InvalidType", "spec")
    assert "index" not in refused.value.detail


def test_an_object_that_would_run_no_pods_is_refused():
    """It would be admitted for nothing, and never end."""
    manifest = a_pytorchjob(workers=0)
    manifest["spec"]["pytorchReplicaSpecs"]["Master"]["replicas"] = 0
    with pytest.raises(Rejected) as refused:
        draft(parse(manifest), START)
    assert (refused.value.code, refused.value.field) == ("InvalidValue", "spec")


def test_the_managers_of_the_hub_and_of_its_own_operator_may_be_named():
    """As `managedBy` may be in a Job: members get the object without it."""
    for manager in ("kueue.x-k8s.io/multikueue", "jobset.sigs.k8s.io/jobset-controller"):
        assert draft(parse(_set(a_jobset(), "spec.managedBy", manager)), START).is_job


def test_a_jobset_may_leave_out_the_restart_policy_of_its_pods():
    """JobSet's webhook writes OnFailure; a Job has no default."""
    manifest = a_jobset()
    del _at(manifest, TEMPLATES["JobSet"][1])["spec"]["restartPolicy"]
    assert draft(parse(manifest), START).is_job
    with pytest.raises(Rejected):
        draft(
            parse(_set(manifest, TEMPLATES["JobSet"][1] + ".spec.restartPolicy", "Always")), START
        )


def _with_env(manifest: Json, entries: int) -> Json:
    pods = _at(manifest, TEMPLATES["JobSet"][1])
    env = [{"name": f"E{number}", "value": "v" * 20} for number in range(entries)]
    pods["spec"]["containers"][0]["env"] = env
    return manifest


def test_expressions_do_not_get_the_environment_of_pods():
    """Each is evaluated over the whole text: 20,000 entries would cost seconds, and change nothing."""
    large = _with_env(a_jobset(), 20_000)
    assert len(orjson.dumps(essentials(large))) < 2048
    given, plain = draft(parse(copy.deepcopy(large)), START), draft(parse(a_jobset()), START)
    assert (given.form, given.pod_sets()) == (plain.form, plain.pod_sets())
    assert given.manifest["spec"] == large["spec"]


@pytest.mark.parametrize("parts", [19, 3000])
def test_an_object_of_too_many_parts_is_refused_before_they_are_read(parts):
    """A workload has at most 18 pod sets."""
    manifest = a_jobset()
    first = manifest["spec"]["replicatedJobs"][0]
    manifest["spec"]["replicatedJobs"] = [{**first, "name": f"w{i}"} for i in range(parts)]
    with pytest.raises(Rejected) as refused:
        draft(parse(manifest), START)
    assert [(each.code, each.field) for each in refused.value.errors] == [
        ("TooManyItems", "spec.replicatedJobs")
    ]


def test_what_expressions_would_read_is_bounded_in_bytes():
    """One field of megabytes is enough."""
    with pytest.raises(Rejected) as refused:
        draft(parse(_set(a_jobset(), "spec.unheard", [{"a": i} for i in range(40_000)])), START)
    assert (refused.value.code, refused.value.field) == ("TooManyItems", "spec")
