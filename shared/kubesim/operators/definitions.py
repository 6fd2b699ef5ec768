"""CustomResourceDefinitions of the kinds that the scripted operators run, without schemas of their own."""

from typing import Any, Final

KINDS: Final = (
    ("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets"),
    ("kubeflow.org", "v1", "JAXJob", "jaxjobs"),
    ("kubeflow.org", "v2beta1", "MPIJob", "mpijobs"),
    ("kubeflow.org", "v1", "PaddleJob", "paddlejobs"),
    ("kubeflow.org", "v1", "PyTorchJob", "pytorchjobs"),
    ("kubeflow.org", "v1", "TFJob", "tfjobs"),
    ("kubeflow.org", "v1", "XGBoostJob", "xgboostjobs"),
    ("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet", "leaderworkersets"),
    ("ray.io", "v1", "RayCluster", "rayclusters"),
    ("ray.io", "v1", "RayJob", "rayjobs"),
    ("ray.io", "v1", "RayService", "rayservices"),
    ("sparkoperator.k8s.io", "v1beta2", "SparkApplication", "sparkapplications"),
    ("workload.codeflare.dev", "v1beta2", "AppWrapper", "appwrappers"),
)
_ANY: Final = {
    "type": "object",
    "properties": {
        part: {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        for part in ("spec", "status")
    },
}


def operator_crds() -> list[dict[str, Any]]:
    """One definition for each kind, with a subresource for its status."""
    return [_crd(*each) for each in KINDS]


def _crd(group: str, version: str, kind: str, plural: str) -> dict[str, Any]:
    served = {
        "name": version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": _ANY},
    }
    metadata: dict[str, Any] = {"name": f"{plural}.{group}"}
    if group.endswith(".k8s.io"):  # a real API server takes these groups with this word alone
        metadata["annotations"] = {"api-approved.kubernetes.io": "unapproved, it has no schema"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [served],
        },
    }
