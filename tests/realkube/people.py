"""Objects of a member's own people in a namespace that accepts no hub, which an agent may not touch."""

import contextlib
import json
from typing import Any, Final

from tests.realkube.plane import Plane, PlaneError

ENFORCE: Final = "pod-security.kubernetes.io/enforce"
SPACE: Final = "finance"


def secret(name: str, namespace: str = SPACE, **marks: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "labels": marks}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata,
        "stringData": {"key": "theirs"},
    }


def deployment(name: str) -> dict[str, Any]:
    chosen = {"app": name}
    pod = {"containers": [{"name": "main", "image": "nginx:1.27"}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": SPACE},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": chosen},
            "template": {"metadata": {"labels": chosen}, "spec": pod},
        },
    }


def namespace(name: str, **marks: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": marks}}


def theirs_of(kind: str, group_version: str = "v1", **more: Any) -> dict[str, Any]:
    metadata = {"name": "theirs", "namespace": SPACE}
    return {"apiVersion": group_version, "kind": kind, "metadata": metadata, **more}


_RBAC: Final = "rbac.authorization.k8s.io"
FOREIGN: Final = (
    secret("theirs"),
    deployment("theirs"),
    theirs_of("ServiceAccount"),
    theirs_of("Service", spec={"ports": [{"port": 80}]}),
    theirs_of(
        "PersistentVolumeClaim",
        spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    ),
    theirs_of(
        "RoleBinding",
        f"{_RBAC}/v1",
        roleRef={"apiGroup": _RBAC, "kind": "ClusterRole", "name": "view"},
        subjects=[{"kind": "ServiceAccount", "name": "theirs", "namespace": SPACE}],
    ),
)


def versions(plane: Plane) -> dict[str, str]:
    """uid and version of everything of theirs: equal before and after means untouched.

    The deployment's controller writes its status; of it the generation is compared.
    """
    kinds = "secrets,serviceaccounts,services,persistentvolumeclaims,rolebindings,deployments"
    found = json.loads(plane.kubectl("-n", SPACE, "get", kinds, "-o", "json"))["items"]
    return {
        f"{each['kind']}/{each['metadata']['name']}": (
            f"{each['metadata']['uid']} {each['metadata'].get('labels')} "
            f"{each['metadata'].get('generation')} {each.get('data')}"
        )
        for each in found
    }


class People:
    """The namespace and its objects in a plane."""

    def __init__(self, plane: Plane) -> None:
        self.plane = plane
        self._made: object = None

    def ensure(self) -> None:
        """Make all of it, unless it is as it was made: a namespace takes ten seconds to go."""
        if self._made is not None and self._state() == self._made:
            return
        self.remove()
        self.plane.create(namespace(SPACE, **{ENFORCE: "restricted"}), *FOREIGN)
        self._made = self._state()

    def remove(self) -> None:
        """Delete the namespace, if it is there, and wait until it is gone."""
        with contextlib.suppress(PlaneError):
            self.plane.kubectl("delete", "namespace", SPACE, "--wait=true")

    def _state(self) -> object:
        """Labels of the namespace and of each of the objects, uids, generations and data."""
        found = versions(self.plane)
        theirs = {key: each for key, each in found.items() if key.endswith("/theirs")}
        return self.plane.find("namespaces.v1", SPACE).get("metadata", {}).get("labels"), theirs
