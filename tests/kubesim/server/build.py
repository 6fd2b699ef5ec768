"""Builders of the objects that the tests of this folder send."""

from typing import Any

Object = dict[str, Any]


def a_config_map(
    name: str = "settings", data: dict[str, str] | None = None, **meta: Any
) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, **meta},
        "data": data if data is not None else {"colour": "blue"},
    }


def a_pod_template(labels: dict[str, str] | None = None, **spec: Any) -> Object:
    container = {"name": "main", "image": "busybox:1.36"}
    return {
        "metadata": {"labels": labels or {}},
        "spec": {"restartPolicy": "Never", "containers": [container], **spec},
    }


def a_job(
    name: str = "work", *, meta: Object | None = None, pod: Object | None = None, **spec: Any
) -> Object:
    """A suspended Job, so that nothing runs unless a test wants it."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, **(meta or {})},
        "spec": {"suspend": True, "template": a_pod_template(**(pod or {})), **spec},
    }


def a_managed_job(name: str = "work", **spec: Any) -> Object:
    """A Job whose status somebody else than the Job controller writes."""
    return a_job(name, **{"managedBy": "example.com/outsider", "suspend": False, **spec})


def a_deployment(name: str = "web", replicas: int = 0, **container: Any) -> Object:
    labels = {"app": name}
    main = {"name": "main", "image": "nginx:1.27", **container}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [main]}},
        },
    }


def a_crd(plural: str, group: str, *, spec: Object | None = None, **version: Any) -> Object:
    """A CRD of kind Widget with a status; `spec` is the schema of its spec."""
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "size": {"type": "integer", "minimum": 1, "maximum": 10},
                    "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"},
                    "amount": {"x-kubernetes-int-or-string": True},
                    "parts": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["name"],
                        "items": {
                            "type": "object",
                            "required": ["name"],
                            "properties": {
                                "name": {"type": "string"},
                                "weight": {"type": "integer"},
                            },
                        },
                    },
                    "tags": {
                        "type": "array",
                        "x-kubernetes-list-type": "set",
                        "items": {"type": "string"},
                    },
                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                },
                **(spec or {}),
            },
            "status": {
                "type": "object",
                "properties": {"phase": {"type": "string"}, "replicas": {"type": "integer"}},
            },
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": f"{plural[:-1].capitalize()}"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                    **version,
                }
            ],
        },
    }


def a_condition(kind: str, status: str = "True") -> Object:
    return {
        "type": kind,
        "status": status,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
        "reason": "Test",
        "message": "",
    }
