"""Jobs at the intake, beyond the list of bad inputs."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from shared import kinds
from shared.errors import Rejected
from shared.kinds import batch_v1, pod as pod_kind
from shared.kinds.problems import Problems
from shared.resources import job_pod_sets
from tests.kinds.build import a_container, a_job, a_workload, refused


def test_a_job_is_read_with_its_pod_sets():
    """A Job gives identity, labels, its spec as received, and what its pods ask for."""
    job = a_job(
        metadata={"labels": {"a": "b"}, "annotations": {"kueue.x-k8s.io/queue-name": "q"}},
        parallelism=3,
        pod={"containers": [a_container(resources={"limits": {"nvidia.com/gpu": 1}})]},
    )
    parsed = kinds.parse(job)
    assert (parsed.api_version, parsed.kind) == ("batch/v1", "Job")
    assert (parsed.namespace, parsed.name) == ("team-a", "job")
    assert parsed.labels == {"a": "b"}
    assert parsed.spec == job["spec"]
    assert parsed.raw is job
    assert parsed.pod_sets == job_pod_sets(job)


def test_a_job_without_namespace_goes_to_the_default_one():
    """Where a manifest names no namespace the caller's default holds."""
    job = a_job(metadata={"namespace": None})
    assert kinds.parse(job).namespace == "default"
    assert kinds.parse(job, default_namespace="mine").namespace == "mine"


def test_a_name_may_be_generated():
    """generateName takes the place of a name for what runs once, not for a declaration."""
    parsed = kinds.parse(a_job(metadata={"name": None, "generateName": "run-"}))
    assert (parsed.name, parsed.generate_name) == ("", "run-")
    bare = {**a_workload(), "metadata": {"generateName": "run-"}}
    assert kinds.parse(bare).generate_name == "run-"
    other = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "c-"}}
    assert refused(other) == {"metadata.generateName": "ForbiddenField"}


def test_what_tools_emit_is_tolerated():
    """`creationTimestamp: null` and an empty status, as kubectl's dry run prints them, pass."""
    job = a_job(metadata={"creationTimestamp": None, "uid": "", "finalizers": []})
    assert kinds.parse({**job, "status": {}}).name == "job"


def test_an_object_from_the_hub_cluster_carries_what_servers_set():
    """What an API server adds is refused from clients and taken from the hub cluster."""
    job = a_job(metadata={"uid": "u", "resourceVersion": "1", "finalizers": ["a.b/c"]})
    job["status"] = {"active": 1}
    assert set(refused(job).values()) == {"ForbiddenField"}
    assert kinds.parse(job, origin="hub-cluster").name == "job"


def test_all_faults_are_reported_at_once():
    """A user mends a manifest in one go: every fault is listed with its field."""
    job = a_job(parallelism=-1, backofLimit=1, pod={"restartPolicy": "Always"})
    assert refused(job) == {
        "spec.backofLimit": "UnknownField",
        "spec.parallelism": "OutOfRange",
        "spec.template.spec.restartPolicy": "InvalidRestartPolicy",
    }


def test_unknown_fields_pass_where_reading_is_not_strict():
    """A newer API server may know more fields: the bridge passes them over."""
    job = a_job(novelty=1, pod={"novelty": 1, "containers": [a_container(novelty=1)]})
    assert len(refused(job)) == 3
    assert kinds.parse(job, strict=False).name == "job"


POD_FAULTS = {
    "spec.template.spec.novelty": ({"novelty": 1}, "UnknownField"),
    "spec.template.spec.hostNetwork": ({"hostNetwork": "yes"}, "InvalidType"),
    "spec.template.spec.nodeSelector[a]": ({"nodeSelector": {"a": "b c"}}, "InvalidLabel"),
    "spec.template.spec.tolerations[0].effect": (
        {"tolerations": [{"key": "k", "operator": "Exists", "effect": "Sometimes"}]},
        "UnsupportedValue",
    ),
    "spec.template.spec.tolerations[0].value": (
        {"tolerations": [{"key": "k", "operator": "Exists", "value": "v"}]},
        "InvalidToleration",
    ),
    "spec.template.spec.volumes[1].name": (
        {"volumes": [{"name": "v"}, {"name": "v"}]},
        "Duplicate",
    ),
    "spec.template.spec.ephemeralContainers": (
        {"ephemeralContainers": [{"name": "e"}]},
        "ForbiddenField",
    ),
    "spec.template.spec.initContainers[0].name": (
        {"initContainers": [a_container()]},
        "Duplicate",
    ),
}


@pytest.mark.parametrize(("field", "fault"), POD_FAULTS.items())
def test_faults_of_the_pod_are_found(field, fault):
    """A fault anywhere in the pod template is refused with its path."""
    pod, code = fault
    assert refused(a_job(pod=pod)) == {field: code}


CONTAINER_FAULTS = {
    "name": ({"name": "Main"}, "InvalidName"),
    "comand": ({"comand": ["true"]}, "UnknownField"),
    "command": ({"command": "true"}, "InvalidType"),
    "env[0].value": ({"env": [{"name": "A", "value": 1}]}, "InvalidType"),
    "env[0].name": ({"env": [{"name": "A=B"}]}, "InvalidName"),
    "ports[0].containerPort": ({"ports": [{"containerPort": 70000}]}, "OutOfRange"),
    "ports[0].protocol": ({"ports": [{"containerPort": 1, "protocol": "X"}]}, "UnsupportedValue"),
    "volumeMounts[0].name": ({"volumeMounts": [{"name": "v", "mountPath": "/v"}]}, "InvalidValue"),
    "imagePullPolicy": ({"imagePullPolicy": "Sometimes"}, "UnsupportedValue"),
    "resources.requests.gpu": ({"resources": {"requests": {"gpu": 1}}}, "InvalidResourceName"),
    "resources.requests[nvidia.com/gpu]": (
        {"resources": {"requests": {"nvidia.com/gpu": 1}}},
        "ExtendedMismatch",
    ),
    "resources.limit": ({"resources": {"limit": {}}}, "UnknownField"),
}


@pytest.mark.parametrize(("field", "fault"), CONTAINER_FAULTS.items())
def test_faults_of_a_container_are_found(field, fault):
    """A fault in a container is refused with its path."""
    more, code = fault
    job = a_job(pod={"containers": [a_container(**more)]})
    assert refused(job) == {f"spec.template.spec.containers[0].{field}": code}


SPEC_FAULTS = {
    "completionMode": ({"completionMode": "Some"}, "UnsupportedValue"),
    "completions": ({"completionMode": "Indexed", "completions": 100_001}, "OutOfRange"),
    "maxFailedIndexes": ({"maxFailedIndexes": 1, "backoffLimitPerIndex": 1}, "InvalidMode"),
    "successPolicy": ({"successPolicy": {"rules": []}}, "InvalidMode"),
    "successPolicy.rules": (
        {"completionMode": "Indexed", "completions": 1, "successPolicy": {"rules": []}},
        "Required",
    ),
    "backoffLimitPerIndex": (
        {"completionMode": "Indexed", "completions": 2, "maxFailedIndexes": 1},
        "Required",
    ),
    "template.spec.restartPolicy": (
        {"podFailurePolicy": {"rules": []}, "pod": {"restartPolicy": "OnFailure"}},
        "InvalidRestartPolicy",
    ),
    "suspend": ({"suspend": "true"}, "InvalidType"),
    "podReplacementPolicy": ({"podReplacementPolicy": "X"}, "UnsupportedValue"),
    "managedBy": ({"managedBy": "me"}, "ForbiddenField"),
    "manualSelector": ({"manualSelector": True}, "ForbiddenField"),
    "selector": ({"selector": {"matchLabels": {"a": "b"}}}, "ForbiddenField"),
    "parallelism": ({"parallelism": True}, "InvalidType"),
}


@pytest.mark.parametrize(("field", "fault"), SPEC_FAULTS.items())
def test_faults_of_the_job_spec_are_found(field, fault):
    """A fault in the Job's own fields is refused with its path."""
    more, code = fault
    assert refused(a_job(**more))[f"spec.{field}"] == code


def test_more_indexes_may_not_fail_than_there_are():
    """maxFailedIndexes is at most the number of completions."""
    indexed: dict[str, Any] = {
        "completionMode": "Indexed",
        "completions": 2,
        "backoffLimitPerIndex": 1,
    }
    assert refused(a_job(**indexed, maxFailedIndexes=3)) == {"spec.maxFailedIndexes": "OutOfRange"}
    assert kinds.parse(a_job(**indexed, maxFailedIndexes=2)).spec["maxFailedIndexes"] == 2


def test_an_annotation_of_ours_must_be_one_for_users():
    """A key with our prefix that is not on the list is refused, and the list is named."""
    job = a_job(metadata={"annotations": {"roadstead.dev/priority": "9"}})
    with pytest.raises(Rejected, match=r"roadstead\.dev/expected-runtime") as refusal:
        kinds.parse(job)
    assert refusal.value.code == "UnknownAnnotation"
    assert kinds.parse(a_job(metadata={"annotations": {"roadstead.dev/retry": "1"}})).name


ANNOTATIONS = {
    "on-cluster-loss": (
        ["Wait", "RescheduleWhenFenced", "RescheduleAfter(60s)", "RescheduleAfter(1h30m)"],
        ["RescheduleAfter(0s)", "RescheduleAfter(-5m)", "RescheduleAfter(99999h)",
         "RescheduleAfter(soon)", "RescheduleAfter()", "never", ""],
    ),
    "expected-runtime": (["90s", "1h30m", "2d", "3600"], ["0", "-1s", "soon", "1x", ""]),
    "clusters": (["east", "east, west"], ["", "east,,west", "East"]),
    "ignore-drift": (["/spec/replicas", "/a,/b /c", ""], ["spec.replicas"]),
}  # fmt: skip


@pytest.mark.parametrize(("name", "values"), ANNOTATIONS.items())
def test_values_of_our_annotations_are_checked(name, values):
    """A value that would mean nothing is refused where somebody can mend it."""
    good, bad = values
    key = f"roadstead.dev/{name}"
    for value in good:
        assert kinds.parse(a_job(metadata={"annotations": {key: value}})).annotations[key] == value
    for value in bad:
        job = a_job(metadata={"annotations": {key: value}})
        assert refused(job) == {f"metadata.annotations[{key}]": "InvalidAnnotation"}, value


LEAST = "kueue.x-k8s.io/job-min-parallelism"


@pytest.mark.parametrize("text", ["abc", "", "0", "-1", "1.5", "5", "6", "99999999999", "٢", "+2"])
def test_a_least_parallelism_is_below_that_of_the_job(text):
    """What partial admission could make nothing of is refused by its field; Kueue's webhook does too."""
    job = a_job(metadata={"annotations": {LEAST: text}}, parallelism=5)
    assert refused(job) == {f"metadata.annotations[{LEAST}]": "InvalidAnnotation"}


@pytest.mark.parametrize(
    ("sizes", "least"),
    [({}, "1"), ({"parallelism": 0}, "1"), ({"parallelism": 8, "completions": 3}, "3")],
)
def test_a_job_that_can_not_be_smaller_has_no_least_parallelism(sizes, least):
    """One pod at a time, none at all, or fewer completions than it would do with."""
    job = a_job(metadata={"annotations": {LEAST: least}}, **sizes)
    assert refused(job) == {f"metadata.annotations[{LEAST}]": "InvalidAnnotation"}


def test_a_least_parallelism_counts_as_the_least_size():
    """From one to one fewer than run at once."""
    for least in ("1", "4"):
        job = a_job(metadata={"annotations": {LEAST: least}}, parallelism=5)
        assert kinds.parse(job).pod_sets[0].min_count == int(least)


def test_a_least_parallelism_adds_nothing_to_a_size_that_is_wrong():
    """One fault is one error."""
    job = a_job(metadata={"annotations": {LEAST: "2"}}, parallelism="five")
    assert refused(job) == {"spec.parallelism": "InvalidType"}


def test_labels_with_our_prefix_are_reserved_in_the_pod_template_too():
    """Nobody but Roadstead sets labels with its prefix."""
    job = a_job()
    job["spec"]["template"]["metadata"] = {"labels": {"roadstead.dev/epoch": "1"}}
    path = "spec.template.metadata.labels[roadstead.dev/epoch]"
    assert refused(job) == {path: "ReservedLabel"}


amounts = st.sampled_from(["1", "500m", "-1", "abc", "9E", "2Gi", "0.1n", 2, 1.5, None])
templates = st.fixed_dictionaries(
    {"restartPolicy": st.sampled_from(["Never", "Always", None])},
    optional={
        "containers": st.lists(
            st.fixed_dictionaries(
                {"name": st.sampled_from(["a", "b", "A"]), "image": st.sampled_from(["i", "", 1])},
                optional={"resources": st.fixed_dictionaries({"requests": st.fixed_dictionaries(
                    {}, optional={"cpu": amounts, "memory": amounts}
                )})},
            ),
            max_size=3,
        ),
        "novelty": st.none(),
    },
)  # fmt: skip


def answer_to(job):
    """The pod sets, or what is wrong."""
    try:
        return kinds.parse_job(job).pod_sets
    except Rejected as refusal:
        return refusal.errors


@given(templates, st.integers(0, 200))
def test_a_remembered_template_gives_the_same_answer(pod, parallelism):
    """Reading a template again from memory gives what reading it afresh gave."""
    job = a_job(pod=pod, parallelism=parallelism, completions=200)
    afresh = Problems()
    batch_v1.check_job_spec(job["spec"], afresh)
    pod_kind.check_template(job["spec"]["template"], "spec.template", afresh, of_job=True)
    first, again = answer_to(job), answer_to(job)
    assert first == again
    if afresh:
        assert first == tuple(afresh.found)
    elif "QuantityTooLarge" not in {getattr(error, "code", "") for error in first}:
        assert first == job_pod_sets(job)
