"""The member's policy judges the fields that a hub writes beside the manifest, by the rule of a kind."""

import pytest

from agent.decide.member_policy import MemberPolicy
from agent.objects.holds import scale_of
from shared.wire.kind_rules import FieldValue, KindRule
from tests.agent.parents import API, a_parent, a_rule
from tests.agent.scripted_hub import a_job

AT = {
    "AppWrapper": "/spec/components/0/template/spec",
    "JobSet": "/spec/replicatedJobs/0/template/spec/template/spec",
    "LeaderWorkerSet": "/spec/leaderWorkerTemplate/workerTemplate/spec",
    "PyTorchJob": "/spec/pytorchReplicaSpecs/Worker/template/spec",
    "RayCluster": "/spec/headGroupSpec/template/spec",
    "RayJob": "/spec/submitterPodTemplate/spec",
    "RayService": "/spec/rayClusterConfig/headGroupSpec/template/spec",
    "SparkApplication": "/spec/driver/template/spec",
}
FIELDS = {
    "hostPID": True,
    "serviceAccountName": "admin",
    "automountServiceAccountToken": True,
    "tolerations": [{"operator": "Exists"}],
    "priorityClassName": "system-node-critical",
}
PODS = [{"template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}]


def ruled(work, *, part="run", **field):
    """The work with one more value in its rule; in `scale`, also as the number that multiplies its pods."""
    rule, given = work.kind_rule, FieldValue(**field)
    update = {"run": [*rule.run, given], "scale": given.path} if part == "scale" else {}
    update = update or {part: [*getattr(rule, part), given]}
    return work.model_copy(update={"kind_rule": rule.model_copy(update=update)})


def refusal(work, step):
    trouble = MemberPolicy().refuse(work, step)
    return "" if trouble is None else trouble.message


@pytest.mark.parametrize("kind", API)
@pytest.mark.parametrize("step", ["Create", "Start", "PatchJob"])
def test_what_the_rules_of_kinds_write_passes(kind, step):
    """The fields that hold and run each kind."""
    assert MemberPolicy().refuse(a_parent(kind), step) is None


@pytest.mark.parametrize("kind", API)
@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("part", ["held", "run", "scale"])
def test_a_rule_writes_no_field_of_a_pod(kind, field, part):
    """Neither as the object is created, nor with its start, nor with a later change of its size."""
    work = ruled(a_parent(kind), part=part, path=f"{AT[kind]}/{field}", value=FIELDS[field])
    for step in ("Create", "Start", "PatchJob"):
        assert refusal(work, step).startswith("PolicyViolation: spec."), step
        assert "pod template" in refusal(work, step)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("/spec/extraPods", PODS),
        ("/spec/extraPods", [{"template": {"spec": {"containers": []}}}]),
        ("/spec/extra/spec/containers", [{"name": "c", "image": "i"}]),
        ("/spec/extra/containers/0/image", "i"),
        ("/spec/replicatedJobs", []),
        ("/spec/replicatedJobs/0/template/spec/template", None),
        ("/spec", {}),
        ("/metadata/labels", {}),
        ("/metadata/finalizers", ["a/b"]),
        ("/status", {}),
        ("", {}),
    ],
)
@pytest.mark.parametrize("step", ["Create", "Start", "PatchJob"])
def test_a_rule_writes_no_containers_no_template_and_nothing_but_the_spec(path, value, step):
    """With any value: a whole template, what is around one, or an object that brings another."""
    assert refusal(ruled(a_parent(), path=path, value=value), step).startswith("PolicyViolation: ")


@pytest.mark.parametrize(
    ("kind", "path", "value", "field"),
    [
        ("SparkApplication", "/spec/driver/hostNetwork", True, "spec.driver.hostNetwork"),
        ("RayCluster", "/spec/headGroupSpec/serviceType", "NodePort", "spec.headGroupSpec.serviceType"),
        ("JobSet", "/spec/podLabels", {"roadstead.dev/job-uid": "x"}, "spec.podLabels"),
        ("JobSet", "/spec/hostNetwork", True, "spec.hostNetwork"),
    ],
)  # fmt: skip
def test_fields_beside_the_templates_are_judged_as_in_a_manifest(kind, path, value, field):
    """The object as it runs is held to the rules of the object as it is sent."""
    assert field in refusal(ruled(a_parent(kind), path=path, value=value), "Start")


def test_a_start_judges_what_the_rule_says_now():
    """A later version of a work may bring another rule than that with which its object was created."""
    work = a_parent()
    assert MemberPolicy().refuse(work, "Create") is None
    later = ruled(a_parent(generation=2), path=f"{AT['JobSet']}/hostPID", value=True)
    assert MemberPolicy().refuse(later, "Start") is not None


def test_a_template_that_only_the_hub_knows_is_not_written_either():
    """The one at a place that looks like none: the rule itself names it."""
    work = a_parent()
    rule = work.kind_rule.model_copy(
        update={"templates": [*work.kind_rule.templates, "/spec/body"]}
    )
    work = work.model_copy(update={"kind_rule": rule})
    assert "pod template" in refusal(ruled(work, path="/spec/body/spec/x", value=1), "Start")


@pytest.mark.parametrize("position", ["00", "01", "\u0660", "\uff10", "1\u0660"])
def test_another_spelling_of_a_position_hides_no_template(position):
    """A template is known by the text of its place, and each position of a list has one."""
    path = f"/spec/replicatedJobs/{position}/template/spec/template/metadata/labels/x"
    refused = refusal(ruled(a_parent(), path=path, value="y"), "Create")
    assert refused.startswith("PolicyViolation: spec.replicatedJobs.")
    assert "position of a list" in refused


def test_keys_with_dots_hide_no_template():
    """A step of a pointer may have a dot: the template below it is known all the same."""
    work = a_parent()
    inner = work.manifest["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    work.manifest["spec"]["a.b"] = {"0": {"template": inner}}
    assert "pod template" in refusal(
        ruled(work, path="/spec/a.b/0/template/spec/hostname", value="x"), "Create"
    )


def test_a_job_has_no_rule():
    """One that a hub sends for it writes nothing, so a start of a Job is judged by nothing more."""
    at = "/spec/template/spec/nodeSelector"
    rule = KindRule(
        definition="job", held=[], run=[FieldValue(path=at, value={})], templates=[], scale=at
    )
    work = a_job().model_copy(update={"kind_rule": rule})
    assert scale_of(work) is None
    assert MemberPolicy().refuse(work, "Start") is None
    assert a_rule("LeaderWorkerSet").scale == "/spec/replicas"
