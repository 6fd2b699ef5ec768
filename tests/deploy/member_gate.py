"""The shipped admission policy of a member, evaluated by a CEL library on plain objects, and such objects."""

from typing import Any

from tests import manifests
from tests.deploy.expressions import value_of
from tests.house.sources import REPOSITORY

MARK = {"roadstead.dev/managed-by": "h"}
TAKEN = {**MARK, "roadstead.dev/job-uid": "u"}
CREATED = {**MARK, "roadstead.dev/created-by": "h"}
ACCEPT = {"roadstead.dev/accept": "h"}
ENFORCE = "pod-security.kubernetes.io/enforce"
PIN = f"{ENFORCE}-version"
RESTRICTED = {ENFORCE: "restricted"}
PINNED = {**MARK, **RESTRICTED, PIN: "v1.30"}
OLDER = {**PINNED, PIN: "v1.0"}
Json = dict[str, Any]
ENDING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
WRITTEN = {"managedFields": [{"manager": "kubectl"}, {"manager": "roadstead"}]}
BY_OTHERS = {"managedFields": [{"manager": "kubectl"}]}


def an(labels: Json, **metadata: Any) -> Json:
    """An object; one with a hub's label was written by the agent, unless the metadata says otherwise."""
    written = WRITTEN if "roadstead.dev/managed-by" in labels else BY_OTHERS
    return {
        "metadata": {"name": "x", "labels": labels, **written, **metadata},
        "spec": {"template": {}},
    }


NOBODY = {"roadstead.dev/managed-by": ""}
PROTECTED = {"finalizers": ["kubernetes.io/pvc-protection"]}
NOTED = an({}, annotations={"roadstead.dev/spec-hash": "x"})
HELD = an({}, finalizers=["roadstead.dev/result"])
OTHER = {"roadstead.dev/managed-by": "z"}
OWNED = {"ownerReferences": [{"kind": "ConfigMap", "name": "gone", "uid": "u"}]}
KEPT = {"finalizers": ["example.com/keep"]}
NOTE = {"annotations": {"roadstead.dev/spec-hash": "x"}}
HOLD = {"finalizers": ["roadstead.dev/result"]}
CLUSTER_SCOPED = ("PriorityClass",)
KEPT_AND_HELD = {"finalizers": ["example.com/keep", "roadstead.dev/result"]}


KINDS_OF_JOBS = {
    "Job": ("batch", "v1"),
    "JobSet": ("jobset.x-k8s.io", "v1alpha2"),
    "PyTorchJob": ("kubeflow.org", "v1"),
    "RayJob": ("ray.io", "v1"),
}


def is_allowed(
    operation: str,
    kind: str,
    old: Json | None,
    new: Json | None,
    space: Json,
    namespace: str = "finance",
) -> bool:
    """Evaluate all rules of the policy on a request of the agent's account."""
    policies = manifests.kept(REPOSITORY / "deploy" / "member" / "admission-policy.yaml")
    spec = next(p["spec"] for p in policies if p["metadata"]["name"] == "roadstead-agent-writes")
    group, version = KINDS_OF_JOBS.get(kind, ("", "v1"))
    request = {"operation": operation, "kind": {"group": group, "version": version, "kind": kind}}
    if kind not in CLUSTER_SCOPED:
        request["namespace"] = namespace
    known: Json = {
        "request": request,
        "object": new,
        "oldObject": old,
        "namespaceObject": None if kind in CLUSTER_SCOPED else an(space),
        "variables": {},
    }

    def value(expression: str) -> Any:
        return value_of(expression, known)

    for each in spec["variables"]:
        known["variables"][each["name"]] = value(each["expression"])
    return all(value(each["expression"]) is True for each in spec["validations"])
