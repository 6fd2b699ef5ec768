"""The shipped admission policies about pod templates, evaluated by a CEL library on plain objects.

Of a member (`roadstead-agent-pods`) and of the hub cluster (`roadstead-pod-templates`); a real API server
gets the same Jobs in `tests/realkube/test_member_gate.py`.
"""

import copy
from pathlib import Path
from typing import Any

import pytest

from shared.kinds.dispatched import DISPATCHED
from tests import manifests
from tests.attack.hostile import HostileJob, harmless_job, hostile_templates
from tests.attack.parents import PARENTS, parent_of
from tests.deploy.expressions import value_of
from tests.house.sources import REPOSITORY

Json = dict[str, Any]
MEMBER = (REPOSITORY / "deploy/member/admission-policy.yaml", "roadstead-agent-pods")
HUB = (REPOSITORY / "deploy/hub-cluster/job-guard.yaml", "roadstead-pod-templates")
HOSTILE = hostile_templates()
EVERY = pytest.mark.parametrize("hostile", HOSTILE, ids=lambda each: each.name)
BOTH = pytest.mark.parametrize("policy", [MEMBER, HUB], ids=["member", "hub-cluster"])


GIVES = {"roadstead.dev/accept-tokens": "true"}


def spec_of(policy: tuple[Path, str]) -> Json:
    """The spec of a shipped policy."""
    path, name = policy
    found: Json = next(
        p["spec"]
        for p in manifests.kept(path)
        if p["metadata"]["name"] == name and p["kind"] == "ValidatingAdmissionPolicy"
    )
    return found


def refusals(
    policy: tuple[Path, str], new: Json, old: Json | None = None, space: Json | None = GIVES
) -> list[str]:
    """The messages of the policy's rules that a write of a Job breaks; [] too where it does not apply."""
    spec = spec_of(policy)
    known: Json = {
        "request": {
            "operation": "UPDATE" if old else "CREATE",
            "kind": {"group": "batch", "version": "v1", "kind": new["kind"]},
            "namespace": new["metadata"]["namespace"],
            "userInfo": {"username": "system:serviceaccount:roadstead:agent"},
        },
        "object": new,
        "oldObject": old,
        "namespaceObject": {
            "metadata": {"name": new["metadata"]["namespace"], "labels": space or {}}
        },
        "variables": {},
    }

    def value(expression: str) -> Any:
        return value_of(expression, known)

    if not all(value(each["expression"]) for each in spec["matchConditions"]):
        return []
    for each in spec["variables"]:
        known["variables"][each["name"]] = value(each["expression"])
    return [each["message"] for each in spec["validations"] if value(each["expression"]) is False]


def queued(manifest: Json) -> Json:
    """The Job with a queue, as the hub cluster takes it for Roadstead's."""
    job = copy.deepcopy(manifest)
    job["metadata"].setdefault("labels", {})["kueue.x-k8s.io/queue-name"] = "q"
    return job


@BOTH
@EVERY
def test_the_policy_refuses_it_when_it_is_created(policy, hostile: HostileJob) -> None:
    """Exactly one rule is broken, and its message begins with the code that the hub answers by REST."""
    (message,) = refusals(policy, queued(hostile.manifest))
    assert message.startswith(f"{hostile.code}: ")


@BOTH
@EVERY
def test_the_policy_refuses_an_update_that_brings_it(policy, hostile: HostileJob) -> None:
    """The Job was created without it."""
    before = queued(harmless_job(hostile.name))
    (message,) = refusals(policy, queued(hostile.manifest), before)
    assert message.startswith(f"{hostile.code}: ")


@BOTH
@EVERY
def test_a_job_that_has_it_already_may_be_changed_otherwise(policy, hostile: HostileJob) -> None:
    """Its finalizer can be removed, so that it can be deleted."""
    before = queued(hostile.manifest)
    after = copy.deepcopy(before)
    before["metadata"]["finalizers"] = ["roadstead.dev/hub"]
    assert refusals(policy, after, before) == []


@BOTH
def test_an_ordinary_job_breaks_no_rule(policy) -> None:
    """With labels, a grace period of an hour and node affinity by labels."""
    job = queued(harmless_job())
    job["spec"]["template"]["metadata"] = {"labels": {"team": "a"}}
    terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]
    job["spec"]["template"]["spec"] |= {
        "terminationGracePeriodSeconds": 3600,
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}
            }
        },
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}],
    }
    assert refusals(policy, job) == []


def test_the_agent_creates_its_jobs_with_its_own_finalizer() -> None:
    """And with the labels that the API server has written into the template by then."""
    job = harmless_job()
    job["metadata"]["finalizers"] = ["roadstead.dev/result"]
    generated = {"controller-uid": "u", "batch.kubernetes.io/controller-uid": "u"}
    job["spec"]["template"]["metadata"] = {"labels": generated}
    assert refusals(MEMBER, job) == []


def test_the_agent_writes_no_other_key_of_the_job_controller() -> None:
    """An index that the pods of another Job carry."""
    job = harmless_job()
    index = {"batch.kubernetes.io/job-completion-index": "0"}
    job["spec"]["template"]["metadata"] = {"labels": index}
    assert len(refusals(MEMBER, job)) == 1


def test_the_hub_cluster_leaves_jobs_of_others_alone() -> None:
    """A Job without queue and manager is not Roadstead's."""
    for each in HOSTILE:
        assert refusals(HUB, each.manifest) == []


@pytest.mark.parametrize(
    ("space", "token", "is_refused"),
    [
        ({}, None, True),
        ({}, False, False),
        ({"roadstead.dev/accept": "h"}, None, True),
        ({"roadstead.dev/accept-tokens": "false"}, None, True),
        (GIVES, None, False),
        ({"roadstead.dev/managed-by": "h", "roadstead.dev/created-by": "h"}, None, False),
        ({"roadstead.dev/managed-by": "z", "roadstead.dev/created-by": "z"}, None, True),
        ({"roadstead.dev/managed-by": "h", "roadstead.dev/job-uid": "u"}, None, True),
    ],
)
def test_pods_get_a_token_only_where_the_namespace_gives_it(space, token, is_refused) -> None:
    """Its people allow it by label, or this hub's agent created the namespace."""
    job = copy.deepcopy(harmless_job())
    job["metadata"].setdefault("labels", {})["roadstead.dev/managed-by"] = "h"
    pod = job["spec"]["template"]["spec"]
    pod.pop("automountServiceAccountToken", None)
    if token is not None:
        pod["automountServiceAccountToken"] = token
    said = refusals(MEMBER, job, space=space)
    assert any(each.startswith("TokenNotAllowed: ") for each in said) is is_refused
    larger = copy.deepcopy(job)
    larger["spec"]["parallelism"] = 2
    assert refusals(MEMBER, larger, job, space) == []


@pytest.mark.parametrize(
    ("kind", "label", "allowed"),
    [
        ("Job", "roadstead.dev/job-uid", True),
        ("Job", "roadstead.dev/created-by", False),
        ("CronJob", "roadstead.dev/job-uid", False),
        ("CronJob", "team", True),
    ],
)
def test_pods_of_other_kinds_carry_no_label_of_roadstead(
    kind: str, label: str, allowed: bool
) -> None:
    """The hub writes three labels on pod templates of Jobs; the agent counts a job's pods by them."""
    template = {**harmless_job()["spec"]["template"], "metadata": {"labels": {label: "u-2"}}}
    spec = (
        {"template": template}
        if kind == "Job"
        else {"jobTemplate": {"spec": {"template": template}}}
    )
    manifest = {"kind": kind, "metadata": {"name": "x", "namespace": "tenant"}, "spec": spec}
    told = refusals(MEMBER, manifest)
    assert [each.partition(":")[0] for each in told] == ([] if allowed else ["ReservedLabel"])


MARKED: Json = {"labels": {"roadstead.dev/job-uid": "u-2"}}
FOREVER: Json = {"finalizers": ["example.com/never"]}
OF_A_JOB: Json = {"labels": {"batch.kubernetes.io/controller-uid": "u"}}


def beside_pods(kind: str, metadata: Json) -> Json:
    """An object with metadata in another template than that of pods: of Jobs, or of claims."""
    pod = harmless_job()["spec"]["template"]["spec"]
    claim = {"metadata": metadata, "spec": {}}
    if kind == "Job":
        pod = {**pod, "volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": claim}}]}
    template = {"metadata": {}, "spec": pod}
    spec: Json = {"template": template}
    if kind == "CronJob":
        spec = {"jobTemplate": {"metadata": metadata, "spec": spec}}
    if kind == "StatefulSet":
        spec["volumeClaimTemplates"] = [claim]
    return {"kind": kind, "metadata": {"name": "x", "namespace": "tenant"}, "spec": spec}


@pytest.mark.parametrize("kind", ["CronJob", "StatefulSet", "Job"])
def test_what_other_templates_make_carries_no_marks_and_no_finalizers(kind: str) -> None:
    """Jobs of a CronJob would count as a work's, and nobody could take a claim back."""
    assert refusals(MEMBER, beside_pods(kind, {"labels": {"team": "a"}})) == []
    for metadata in (MARKED, FOREVER):
        made = beside_pods(kind, metadata)
        (told,) = refusals(MEMBER, made)
        assert told.startswith("ReservedLabel: a template of Jobs or claims")
        assert refusals(MEMBER, made, made) == []


@pytest.mark.parametrize("kind", ["Deployment", "Pod"])
def test_no_pod_of_another_kind_is_adopted_by_a_job(kind: str) -> None:
    """The Job controller takes every pod that carries the uid of its Job."""
    pod = harmless_job()["spec"]["template"]["spec"]
    made: Json = {"kind": kind, "metadata": {"name": "x", "namespace": "tenant"}, "spec": pod}
    if kind == "Pod":
        made["metadata"] |= OF_A_JOB
    else:
        made["spec"] = {"template": {"metadata": OF_A_JOB, "spec": pod}}
    (told,) = refusals(MEMBER, made)
    assert "batch.kubernetes.io/" in told


@pytest.mark.parametrize("kind", PARENTS)
@EVERY
def test_a_member_judges_the_templates_of_every_built_in_kind(kind, hostile: HostileJob) -> None:
    """Wherever the template stands: the same rule is broken as by a Job."""
    (message,) = refusals(MEMBER, parent_of(kind, hostile.manifest))
    assert message.startswith(f"{hostile.code}: ")


@pytest.mark.parametrize("kind", ["Job", *PARENTS])
def test_a_member_takes_the_marks_of_a_job_on_every_built_in_kind(kind) -> None:
    """The hub writes them, and the agent finds the pods by them; other labels of ours are refused."""
    job = harmless_job()
    metadata = job["spec"]["template"].setdefault("metadata", {})
    metadata["labels"] = {
        "roadstead.dev/managed-by": "h",
        "roadstead.dev/job-uid": "u",
        "roadstead.dev/epoch": "1",
    }
    assert refusals(MEMBER, job if kind == "Job" else parent_of(kind, job)) == []
    metadata["labels"]["roadstead.dev/other"] = "x"
    told = refusals(MEMBER, job if kind == "Job" else parent_of(kind, job))
    assert told[0].startswith("ReservedLabel: ")


@pytest.mark.parametrize("kind", PARENTS)
def test_a_member_judges_a_template_of_such_an_object_when_it_changes(kind) -> None:
    """An update that starts it changes none; one that brings a hostile template is refused."""
    hostile = HOSTILE[0]
    harmless, wrong = parent_of(kind, harmless_job()), parent_of(kind, hostile.manifest)
    assert refusals(MEMBER, harmless) == []
    assert refusals(MEMBER, wrong, harmless)[0].startswith(f"{hostile.code}: ")
    started = {**wrong, "spec": {**wrong["spec"], "suspend": False}}
    assert refusals(MEMBER, started, wrong) == []
    assert refusals(MEMBER, {**harmless, "spec": {}}) == []


def test_the_member_judges_the_templates_of_every_dispatched_kind() -> None:
    """A kind that is dispatched and missing here would bring pods past the second gate.

    What an AppWrapper wraps has its templates where its kind has them: hub and agent judge these alone.
    """
    judged = {each.partition(" ")[0] for each in PARENTS}
    assert {kind for _, kind in DISPATCHED} - judged == {"AppWrapper"}


def test_the_api_server_asks_the_policy_about_every_dispatched_kind() -> None:
    """A rule that never matches judges nothing, whatever its expressions say."""
    asked = {
        (group, resource)
        for rule in spec_of(MEMBER)["matchConstraints"]["resourceRules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        if {"CREATE", "UPDATE"} <= set(rule["operations"]) and rule["apiVersions"] == ["*"]
    }
    dispatched = {(version.partition("/")[0], f"{kind.lower()}s") for version, kind in DISPATCHED}
    assert dispatched - asked == {("workload.codeflare.dev", "appwrappers")}
