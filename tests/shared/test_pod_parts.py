"""Pods of kinds without a pod template, and parts of pod specs: judged wherever they are."""

import pytest

from shared import podsecurity
from shared.podsecurity.rules import Rules

BAD = {"template": {"spec": {"containers": [{"name": "c", "image": "i"}], "hostNetwork": True}}}
HOSTS = {"hostNetwork": True}
LOUD = {"containers": [{"name": "main", "image": "busybox"}], **HOSTS}
ARGO_STEP = {
    "name": "a",
    "container": {"image": "busybox", "securityContext": {"privileged": True}},
}


@pytest.mark.parametrize(
    ("api_version", "kind", "spec", "field"),
    [
        ("example.com/v1", "Widget", {"podSpec": LOUD}, "spec.podSpec.hostNetwork"),
        (
            "example.com/v1",
            "Widget",
            {"items": [{"spec": LOUD}]},
            "spec.items[0].spec.hostNetwork",
        ),
        (
            "serving.kserve.io/v1",
            "InferenceService",
            {"predictor": HOSTS},
            "spec.predictor.hostNetwork",
        ),
        (
            "argoproj.io/v1",
            "Workflow",
            {"templates": [{"name": "a"}], **HOSTS},
            "spec.hostNetwork",
        ),
        ("argoproj.io/v1", "Workflow", {"podSpecPatch": "{}"}, "spec.podSpecPatch"),
        (
            "argoproj.io/v1",
            "Workflow",
            {"templates": [ARGO_STEP]},
            "spec.templates[0].container.securityContext.privileged",
        ),
        (
            "argoproj.io/v1",
            "CronWorkflow",
            {
                "workflowSpec": {
                    "templates": [{"sidecars": [{"name": "s", "image": "i"}], **HOSTS}]
                }
            },
            "spec.workflowSpec.templates[0].hostNetwork",
        ),
    ],
)
def test_pods_without_a_template_are_found(api_version, kind, spec, field):
    """A pod spec under any name, a host namespace anywhere, and the steps of an Argo workflow."""
    manifest = {"apiVersion": api_version, "kind": kind, "spec": spec}
    found = podsecurity.check_pods(manifest, "team", "baseline", Rules())
    assert {each.field for each in found} == {field}


PATCH = {"podSpecPatch": "{}"}
SET = {"name": "a", "containerSet": {"containers": [{"name": "c", "image": "i"}]}}
LOUD_CONTAINER = {"name": "c", "securityContext": {"privileged": True}}
HOST_VOLUME = {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}
WORKFLOW = ("argoproj.io/v1alpha1", "Workflow")
PRIVILEGED = "securityContext.privileged"


@pytest.mark.parametrize(
    ("api_version", "kind", "spec", "field"),
    [
        (*WORKFLOW, {"templates": [{**SET, **PATCH}]}, "spec.templates[0].podSpecPatch"),
        (
            *WORKFLOW,
            {"templates": [{**SET, **HOST_VOLUME}]},
            "spec.templates[0].volumes[0].hostPath",
        ),
        (*WORKFLOW, {"templates": [{"resource": {}, **PATCH}]}, "spec.templates[0].podSpecPatch"),
        (*WORKFLOW, {"templateDefaults": PATCH}, "spec.templateDefaults.podSpecPatch"),
        (
            *WORKFLOW,
            {"templateDefaults": {"container": LOUD_CONTAINER}},
            f"spec.templateDefaults.container.{PRIVILEGED}",
        ),
        (*WORKFLOW, {"artifactGC": PATCH}, "spec.artifactGC.podSpecPatch"),
        (*WORKFLOW, {"workflowSpec": {}, **PATCH}, "spec.podSpecPatch"),
        (
            "argoproj.io/v1alpha1",
            "Sensor",
            {"k8s": {"source": {"resource": {"spec": HOST_VOLUME}}}},
            "spec.k8s.source.resource.spec.volumes[0].hostPath",
        ),
        (
            "example.com/v1",
            "Widget",
            {"podSpec": {"containers": [LOUD_CONTAINER]}},
            f"spec.podSpec.containers[0].{PRIVILEGED}",
        ),
        (
            "example.com/v1",
            "Widget",
            {"podTemplate": {"spec": HOST_VOLUME}},
            "spec.podTemplate.spec.volumes[0].hostPath",
        ),
        ("tekton.dev/v1", "Task", {"steps": [LOUD_CONTAINER]}, f"spec.steps[0].{PRIVILEGED}"),
        (
            "example.com/v1",
            "Widget",
            {"podSecurityContext": {"sysctls": [{"name": "kernel.msgmax"}]}},
            "spec.podSecurityContext.sysctls[0].name",
        ),
        (
            "example.com/v1",
            "Widget",
            {"workTemplate": {"spec": {"initContainers": [], "pods": BAD}}},
            "spec.workTemplate.spec.pods.template.spec.hostNetwork",
        ),
    ],
)
def test_a_part_of_a_pod_spec_is_judged_wherever_it_is(api_version, kind, spec, field):
    """Operators merge it into pods: defaults of a workflow, a list of volumes, a nested object."""
    manifest = {"apiVersion": api_version, "kind": kind, "spec": spec}
    found = podsecurity.check_pods(manifest, "team", "baseline", Rules())
    assert [each.field for each in found] == [field]


def test_a_part_of_a_pod_spec_needs_no_defaults():
    """Restricted asks for fields that the whole pod has to have; a part may leave them to the rest."""
    spec = {"volumes": [{"name": "v", "emptyDir": {}}], "securityContext": {"runAsUser": 1000}}
    manifest = {"apiVersion": "example.com/v1", "kind": "Widget", "spec": spec}
    assert podsecurity.check_pods(manifest, "team", "restricted", Rules()) == []


def test_the_steps_of_a_workflow_inherit_its_pod_fields():
    """A security context of the workflow serves every step."""
    secure = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    main = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    step = {"name": "a", "container": {"image": "busybox", "securityContext": main}}
    spec = {"securityContext": secure, "templates": [step]}
    manifest = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "spec": spec}
    assert podsecurity.check_pods(manifest, "team", "restricted", Rules()) == []


def test_what_only_looks_like_containers_is_no_pod():
    """The schema of a definition, and a policy about names of containers."""
    schema = {"properties": {"containers": {"type": "array", "items": {"type": "object"}}}}
    spec = {"schema": schema, "policy": {"containers": [{"name": "main", "mode": "Off"}]}}
    manifest = {"apiVersion": "example.com/v1", "kind": "Widget", "spec": spec}
    assert podsecurity.check_pods(manifest, "team", "restricted", Rules()) == []


@pytest.mark.parametrize(
    ("api_version", "kind", "spec", "path"),
    [
        ("batch/v1", "CronJob", "jobTemplate", "spec.jobTemplate"),
        ("apps/v1", "StatefulSet", "volumeClaimTemplates", "spec.volumeClaimTemplates[0]"),
        (
            "jobset.x-k8s.io/v1alpha2",
            "JobSet",
            "replicatedJobs",
            "spec.replicatedJobs[0].template",
        ),
    ],
)
@pytest.mark.parametrize(
    "metadata",
    [{"labels": {"roadstead.dev/managed-by": "x"}}, {"finalizers": ["example.com/never"]}],
    ids=["mark", "finalizer"],
)
def test_templates_of_other_objects_carry_no_mark_and_no_finalizer(
    api_version, kind, spec, path, metadata
):
    """A controller copies them to Jobs and claims, which would count as Roadstead's or never go."""
    made = {"metadata": metadata}
    given = {
        "jobTemplate": made,
        "volumeClaimTemplates": [made],
        "replicatedJobs": [{"template": made}],
    }
    manifest = {"apiVersion": api_version, "kind": kind, "spec": {spec: given[spec]}}
    (one,) = podsecurity.check_pods(manifest, "team", "privileged", Rules())
    assert one.field.startswith(f"{path}.metadata.")
