"""Builders of manifests: valid by default, with what a test is about given by keyword."""

import copy
from typing import Any

from shared import kinds
from shared.errors import Rejected

KUEUE = "kueue.x-k8s.io"
PLACEMENT = "placement.kubernetes-fleet.io"


def a_container(**more: Any) -> dict[str, Any]:
    return {"name": "main", "image": "busybox:1.36", **more}


def a_job(
    *, metadata: dict[str, Any] | None = None, pod: dict[str, Any] | None = None, **spec: Any
) -> dict[str, Any]:
    pod_spec = {"restartPolicy": "Never", "containers": [a_container()], **(pod or {})}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "job", "namespace": "team-a", **(metadata or {})},
        "spec": {"template": {"spec": pod_spec}, **spec},
    }


def a_queue(version: str = "v1beta2", **spec: Any) -> dict[str, Any]:
    return an_object(f"{KUEUE}/{version}", "ClusterQueue", "queue", **spec)


def a_group(flavor: str = "default", limits: Any = None, **nominal: Any) -> dict[str, Any]:
    """A resource group of one flavor with the nominal quotas given."""
    resources = [{"name": n, "nominalQuota": q, **(limits or {})} for n, q in nominal.items()]
    return {
        "coveredResources": [*nominal],
        "flavors": [{"name": flavor, "resources": resources}],
    }


def a_placement(
    kind: str = "ClusterResourcePlacement", version: str = "v1beta1", **spec: Any
) -> dict[str, Any]:
    selectors = [{"group": "", "version": "v1", "kind": "Namespace", "name": "team-a"}]
    if kind == "ResourcePlacement":
        selectors = [{"group": "batch", "version": "v1", "kind": "Job", "name": "job"}]
    return an_object(
        f"{PLACEMENT}/{version}", kind, "placement", **{"resourceSelectors": selectors, **spec}
    )


def a_workload(version: str = "v1beta2", **spec: Any) -> dict[str, Any]:
    template = {"spec": {"containers": [a_container()], "restartPolicy": "Never"}}
    pod_sets = [{"name": "main", "count": 1, "template": template}]
    return an_object(f"{KUEUE}/{version}", "Workload", "load", **{"podSets": pod_sets, **spec})


def an_object(api_version: str, kind: str, name: str, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name}
    made = {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}
    return copy.deepcopy(made)


def refused(manifest: Any, **options: Any) -> dict[str, str]:
    """What is wrong with a manifest: code by field. Fails where nothing is."""
    try:
        parsed = kinds.parse(manifest, **options)
    except Rejected as refusal:
        return {error.field: error.code for error in refusal.errors}
    message = f"accepted: {parsed}"
    raise AssertionError(message)


def spec_of(manifest: Any, **options: Any) -> dict[str, Any]:
    """The internal shape of an accepted manifest."""
    return kinds.parse(manifest, **options).spec
