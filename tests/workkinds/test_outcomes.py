"""What becomes of an object: managed, unmanaged, refused, waiting, children, per-pod or companion."""

import pytest

from shared.reject_codes import RejectCode
from tests.workkinds.build import (
    QUEUE,
    a_job,
    a_karta,
    a_pod,
    a_swarm,
    an_extension,
    an_object,
    counts,
    pods,
    read,
    read_all,
)

GROUP = "kueue.x-k8s.io/pod-group-name"
TOTAL = "kueue.x-k8s.io/pod-group-total-count"
FAST = "kueue.x-k8s.io/pod-group-fast-admission"
PRIORITY = "kueue.x-k8s.io/priority-class"


def test_what_names_no_queue_is_unmanaged():
    """Of any kind, known or not."""
    for each in (
        an_object("batch/v1", "Job", {}, labels={}),
        an_object("a.b/v1", "C", {}, labels={}),
    ):
        assert read(each).outcome == "unmanaged"


def test_a_queue_is_named_by_annotation_too():
    """As Kueue's first releases did."""
    job = a_job()
    job["metadata"] = {"name": "x", "annotations": QUEUE}
    found = read(job)
    assert (found.outcome, found.namespace) == ("managed", "default")


@pytest.mark.parametrize(
    ("obj", "said"),
    [
        (an_object("example.org/v1", "Swarm", {"a": {"template": a_pod()}}), "has pods"),
        (an_object("example.org/v1", "Thing", {}), "no definition of its kind"),
        (an_object("batch/v2", "Job", {"template": a_pod()}), "is of version v1"),
        (an_object("kubeflow.org/v1", "MPIJob", {}), "is of version v2beta1"),
    ],
)
def test_kinds_and_versions_without_a_definition_are_refused(obj, said):
    """Nothing is guessed: pods or none, another version or none."""
    found = read(obj)
    assert (found.outcome, found.code) == ("refused", RejectCode.NO_ADAPTER)
    assert said in found.reason


def test_a_key_that_is_misspelt_is_refused():
    """Roles are case-sensitive, and the nearest one is named."""
    spec = {
        "pytorchReplicaSpecs": {"Master": {"template": a_pod()}, "worker": {"template": a_pod()}}
    }
    found = read(an_object("kubeflow.org/v1", "PyTorchJob", spec))
    assert found.outcome == "refused"
    assert "did you mean Worker" in found.reason


@pytest.mark.parametrize("least", ["7", "5", "0", "-1", "1.5", "abc", ""])
def test_the_least_parallelism_of_a_job_is_less_than_its_pods(least):
    """As at submission: without its minimum the Job would be admitted whole or not at all."""
    job = a_job(parallelism=5)
    job["metadata"]["annotations"] = {"kueue.x-k8s.io/job-min-parallelism": least}
    found = read(job)
    assert found.outcome == "refused"
    assert "job-min-parallelism" in found.reason


@pytest.mark.parametrize("least", [5, -1, 1.5, "2"])
def test_a_least_count_that_can_not_be_is_refused(least):
    """Of a definition: no whole number, or more than the pods."""
    scale = {"replicasPath": ".spec.replicas"}
    rule = {"component": "swarm", "minCount": ".spec.least"}
    by = [a_karta(scaleDefinition=scale), an_extension(podSets=[rule])]
    found = read(a_swarm(replicas=3, least=least), by=by)
    assert found.outcome == "refused"
    assert "least count" in found.reason


def test_a_workload_states_its_own_pod_sets():
    """It names a queue in its spec, and nothing has to be read from it."""
    found = read(an_object("kueue.x-k8s.io/v1beta2", "Workload", {"queueName": "q"}, labels={}))
    assert (found.outcome, "podSets" in found.reason) == ("unmanaged", True)


@pytest.mark.parametrize("count", [-1, 1.5, "3", True, 2**31])
def test_a_count_is_a_whole_number(count):
    """Anything else is refused, also a text."""
    found = read(an_object("apps/v1", "StatefulSet", {"replicas": count, "template": a_pod()}))
    assert found.outcome == "refused"


@pytest.mark.parametrize(
    "template",
    [None, {}, {"spec": {}}, {"spec": {"containers": []}}, {"spec": {"containers": [None]}},
     {"spec": {"containers": [{"resources": {"requests": {"cpu": "much"}}}]}},
     {"spec": {"containers": [{"resources": "none"}]}}],
)  # fmt: skip
def test_a_pod_spec_that_cannot_be_read_is_refused(template):
    """Nothing is admitted for nothing."""
    assert read(a_job(template=template)).outcome == "refused"


def test_all_pods_together_are_bounded():
    """A product beyond 63 bits is refused as an amount is."""
    found = read(a_job(parallelism=2**31 - 1, completions=2**31 - 1, template=a_pod(memory="1Ei")))
    assert found.code == RejectCode.QUANTITY_TOO_LARGE


def test_pod_level_requests_and_sidecars_count():
    """One pod's requests are Kubernetes' own sum."""
    pod = a_pod("1", "1Gi", resources={"requests": {"cpu": "4"}})
    pod["spec"]["initContainers"] = [
        {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"memory": "1Gi"}}}
    ]
    assert pods(read(a_job(template=pod))) == {"main": (1, {"cpu": "4", "memory": "2Gi"})}


@pytest.mark.parametrize(
    ("labels", "spec", "wanted"),
    [
        ({PRIORITY: "label"}, {"priorityClassName": "own"}, ("label", "WorkloadPriorityClass")),
        ({}, {"priorityClassName": "own"}, ("own", "PriorityClass")),
        ({}, {}, ("template", "PriorityClass")),
    ],
)
def test_priority_is_that_of_the_label_then_of_the_kind_then_of_a_template(labels, spec, wanted):
    """The first that says one."""
    tasks = [
        {"name": "a", "replicas": 1, "template": a_pod()},
        {"name": "b", "replicas": 1, "template": a_pod(priorityClassName="template")},
    ]
    job = an_object(
        "batch.volcano.sh/v1alpha1", "Job", {"tasks": tasks, **spec}, labels={**QUEUE, **labels}
    )
    found = read(job)
    assert (found.priority_class, found.priority_kind) == wanted


def test_a_volcano_task_without_a_count_is_refused():
    """There is no default."""
    found = read(
        an_object(
            "batch.volcano.sh/v1alpha1", "Job", {"tasks": [{"name": "t", "template": a_pod()}]}
        )
    )
    assert found.outcome == "refused"
    assert "task t has pods and no count" in found.reason


def test_children_may_name_the_queue():
    """The label on the template of its Jobs queues them, and gives their priority."""
    template = {"metadata": {"labels": {**QUEUE, PRIORITY: "high"}}, "spec": {"template": a_pod()}}
    found = read(an_object("batch/v1", "CronJob", {"jobTemplate": template}, labels={}))
    assert (found.outcome, found.workloads, found.priority_class) == ("children", 0, "high")
    assert counts(found.child) == {"main": 1}


def test_children_that_would_be_refused_refuse_their_parent():
    """The reason is that of the child."""
    found = read(an_object("batch/v1", "CronJob", {"jobTemplate": {"spec": {"template": {}}}}))
    assert found.outcome == "refused"
    assert "its children" in found.reason


def _owned(obj, owner):
    reference = {
        "kind": owner["kind"],
        "name": "x",
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }
    obj["metadata"]["ownerReferences"] = [reference]
    return obj


def _chain(*, top, middle):
    pod = an_object("v1", "Pod", a_pod()["spec"], uid="3")
    return [top, _owned(middle, top), _owned(pod, middle)]


def test_what_a_managed_object_owns_is_part_of_it():
    """Copied labels charge nothing twice; ReplicaSets are passed through."""
    top = an_object("apps/v1", "Deployment", {"template": a_pod()}, uid="1")
    middle = an_object("apps/v1", "ReplicaSet", {"template": a_pod()}, uid="2")
    deployment, _, pod = read_all(_chain(top=top, middle=middle))
    assert (deployment.outcome, pod.outcome) == ("managed", "unmanaged")
    assert "Deployment x" in pod.reason


def test_an_owner_of_unknown_kind_ends_the_walk():
    """What it owns stands for itself."""
    top = an_object("apps/v1", "Deployment", {"template": a_pod()}, uid="1")
    middle = an_object("example.org/v1", "Unknown", {}, labels={}, uid="2")
    assert read_all(_chain(top=top, middle=middle))[2].outcome == "managed"


def _member(cpu="1", total="2", name="p", **annotations):
    said = {TOTAL: total, **{key.replace("_", "/", 1): v for key, v in annotations.items()}}
    return an_object(
        "v1", "Pod", a_pod(cpu)["spec"], name=name, labels={**QUEUE, GROUP: "g"}, annotations=said
    )


def test_a_group_of_pods_is_one_workload():
    """A pod set for each shape, under the name of the group."""
    (group,) = read_all([_member("1"), _member("2", name="r")])
    assert (group.name, group.outcome, group.workloads) == ("g", "managed", 1)
    assert sorted((count, asked["cpu"]) for count, asked in pods(group).values()) == [
        (1, "1"),
        (1, "2"),
    ]
    assert all(len(name) == 8 for name in counts(group))


def test_a_group_waits_for_its_pods():
    """Until as many are there as it says; a failed one does not count."""
    lost = {**_member(name="r"), "status": {"phase": "Failed"}}
    (group,) = read_all([_member(), lost])
    assert group.outcome == "waiting"
    assert "1 of the group's 2 pods" in group.reason


def test_a_first_pod_may_speak_for_all():
    """Fast admission: its shape, as often as the total says."""
    first = _member(total="5")
    first["metadata"]["annotations"][FAST] = "true"
    assert list(counts(read(first)).values()) == [5]


def test_pods_beyond_the_total_do_not_count():
    """The oldest are kept."""
    listed = []
    for number in (3, 1, 2):
        pod = _member(str(number), name=f"p{number}")
        pod["metadata"]["creationTimestamp"] = f"2026-01-0{number}T00:00:00Z"
        listed.append(pod)
    (group,) = read_all(listed)
    assert sorted(asked["cpu"] for _, asked in pods(group).values()) == ["1", "2"]


def test_a_group_agrees_on_its_total():
    """Two totals refuse it, and so does one that is no number."""
    assert read_all([_member(), _member(total="3", name="r")])[0].outcome == "refused"
    assert read(_member(total="some")).outcome == "refused"
