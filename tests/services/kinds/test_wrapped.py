"""AppWrappers as jobs: all pods of what they wrap are known, charged and marked."""

from typing import Any

import pytest

from hub.services.reading.work_kinds import ReadWork, read_work
from shared.kinds.registry import parse
from tests.services.kinds.fleet import (
    QUEUE,
    a_jobset,
    a_rayjob,
    a_template,
    an_appwrapper,
)
from tests.services.kinds.reading import refused

Json = dict[str, Any]
AT = "/spec/components/{}/template"


def _wrapping(*inner: Json, pod_sets: list[Json] | None = None) -> Json:
    made = an_appwrapper()
    made["spec"]["components"] = [{"template": each} for each in inner]
    if pod_sets is not None:
        made["spec"]["components"][0]["podSets"] = pod_sets
    return made


def _inner(manifest: Json) -> Json:
    del manifest["metadata"]["namespace"]
    return manifest


def _object(api_version: str, kind: str, spec: Json) -> Json:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, "spec": spec}


def _read(manifest: Json) -> ReadWork:
    read = read_work(parse(manifest))
    assert read is not None
    return read


def test_each_pod_set_is_numbered_through_and_has_its_template():
    """As its operator numbers them; the hub writes flavors and marks there."""
    read = _read(an_appwrapper(workers=2))
    assert [(each.name, each.count) for each in read.pod_sets] == [
        ("both-0", 1),
        ("both-1", 1),
        ("both-2", 2),
    ]
    roles = f"{AT.format(1)}/spec/pytorchReplicaSpecs"
    assert list(zip(read.form.pod_sets, read.form.templates, strict=True)) == [
        ("both-0", f"{AT.format(0)}/spec/template"),
        ("both-1", f"{roles}/Master/template"),
        ("both-2", f"{roles}/Worker/template"),
    ]


def test_a_pod_is_its_own_template():
    """Its labels and environment are those of the pod that will run."""
    read = _read(_wrapping(_object("v1", "Pod", a_template(cpu="2")["spec"])))
    assert read.form.templates == [AT.format(0)]
    assert read.pod_sets[0].requests["cpu"] == 2000


def test_the_template_that_an_operator_would_write_is_written_there():
    """The submitter of a RayJob, with the marks of the job."""
    read = _read(_wrapping(_inner(a_rayjob(queue=""))))
    assert [each["path"] for each in read.form.filled] == [
        f"{AT.format(0)}/spec/submitterPodTemplate"
    ]


def test_declared_pod_sets_name_every_template():
    """One that is missing would run beside the charge, without flavor."""
    at = "template.spec.replicatedJobs[{}].template.spec.template"
    whole: list[Json] = [{"path": at.format(1), "replicas": 2}, {"path": at.format(0)}]
    jobset = _inner(a_jobset(queue=""))
    read = _read(_wrapping(jobset, pod_sets=whole))
    assert [each.requests["cpu"] for each in read.pod_sets] == [2000, 1000]
    by_name = dict(zip(read.form.pod_sets, read.form.templates, strict=True))
    assert by_name["both-0"].startswith(f"{AT.format(0)}/spec/replicatedJobs/1/")
    three = [{"path": at.format(1), "replicas": 3}]
    assert refused(_wrapping(jobset, pod_sets=three))[0] == "InvalidValue"


SERVICE = {"selector": {"a": "b"}, "ports": [{"port": 80}]}
QUEUED = _inner(a_jobset())
POD_OF_NO_JOB = {"spec": {"containers": [{"name": "a", "image": "ex/a:1"}]}}
ELSEWHERE = a_jobset(queue="") | {"metadata": {"name": "x", "namespace": "other"}}
REFUSED = [
    (_object("apps/v1", "Deployment", {"template": a_template()}), "kind", "UnsupportedKind"),
    (_object("v1", "ConfigMap", {}), "kind", "UnsupportedKind"),
    (_object("rbac.authorization.k8s.io/v1", "RoleBinding", {}), "kind", "UnsupportedKind"),
    (QUEUED, "metadata.labels", "InvalidCombination"),
    (ELSEWHERE, "metadata.namespace", "InvalidValue"),
    (_object("v1", "Service", {**SERVICE, "externalIPs": ["10.0.0.1"]}),
     "spec.externalIPs", "ForbiddenField"),
    (_object("v1", "Service", {**SERVICE, "type": "LoadBalancer"}), "spec.type", "ForbiddenField"),
    (_object("batch/v1", "Job", {"template": POD_OF_NO_JOB}),
     "spec.template.spec.restartPolicy", "InvalidRestartPolicy"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("inner", "field", "code"), REFUSED, ids=[f"{i['kind']}-{f}" for i, f, _ in REFUSED]
)
def test_what_it_must_not_wrap_is_refused_with_its_field(inner, field, code):
    """Pods that nobody could prove gone, a second queue, another namespace, addresses, bad templates."""
    job = _object("batch/v1", "Job", {"template": a_template(cpu="1")})
    job["metadata"]["name"] = "first"
    assert refused(_wrapping(job, inner)) == (code, f"spec.components[1].template.{field}")


def test_wrapped_objects_are_told_apart_and_start_with_their_wrapper():
    """Each has a name of its own; a Job that is suspended in it would wait for nobody."""
    job = _object("batch/v1", "Job", {"template": a_template(cpu="1")})
    at = "spec.components[1].template"
    assert refused(_wrapping(job, job)) == ("InvalidValue", f"{at}.metadata.name")
    unnamed = {**job, "metadata": {"generateName": "x-"}}
    assert refused(_wrapping(job, unnamed)) == ("Required", f"{at}.metadata.name")
    held = _object("batch/v1", "Job", {**job["spec"], "suspend": True})
    held["metadata"]["name"] = "held"
    assert refused(_wrapping(job, held)) == ("ForbiddenField", f"{at}.spec.suspend")


def test_the_operators_own_retries_and_times_to_live_are_refused():
    """It would run again, or delete, what has ended."""
    made = an_appwrapper()
    key = "workload.codeflare.dev.appwrapper/retryLimit"
    made["metadata"]["annotations"] = {key: "99"}
    assert refused(made) == ("ForbiddenField", f"metadata.annotations[{key}]")


def test_what_its_kind_refuses_is_refused_within_it():
    """A RayJob that leaves its cluster running, or that scales itself."""
    leaves, scales = _inner(a_rayjob(queue="")), _inner(a_rayjob(queue=""))
    leaves["spec"]["shutdownAfterJobFinishes"] = False
    scales["spec"]["rayClusterSpec"]["enableInTreeAutoscaling"] = True
    assert refused(_wrapping(leaves))[0] == "InvalidValue"
    assert refused(_wrapping(scales))[0] == "InvalidValue"


def test_services_stand_before_the_pods():
    """They have none themselves."""
    job = _object("batch/v1", "Job", {"template": a_template(cpu="1")})
    read = _read(_wrapping(_object("v1", "Service", SERVICE), job))
    assert [each.name for each in read.pod_sets] == ["both-0"]
    assert read.form.templates == [f"{AT.format(1)}/spec/template"]


def test_the_wrapper_names_the_queue_and_the_manager():
    """Both stay on the hub."""
    made = an_appwrapper()
    made["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue"
    assert _read(made).form.removed == ["/spec/managedBy"]
    assert QUEUE in made["metadata"]["labels"]
