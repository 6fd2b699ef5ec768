"""A cluster as the tests of this folder see it: HTTP as an administrator, and kubectl."""

import base64
import json
import ssl
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import yaml

from tests import waiting

PATIENCE_S = 30
Object = dict[str, Any]

ROOTS = {
    "configmaps": "/api/v1",
    "secrets": "/api/v1",
    "pods": "/api/v1",
    "services": "/api/v1",
    "events": "/api/v1",
    "serviceaccounts": "/api/v1",
    "nodes": "/api/v1",
    "namespaces": "/api/v1",
    "jobs": "/apis/batch/v1",
    "cronjobs": "/apis/batch/v1",
    "deployments": "/apis/apps/v1",
    "statefulsets": "/apis/apps/v1",
    "replicasets": "/apis/apps/v1",
    "leases": "/apis/coordination.k8s.io/v1",
    "customresourcedefinitions": "/apis/apiextensions.k8s.io/v1",
}
CLUSTER_WIDE = {"namespaces", "nodes", "customresourcedefinitions"}
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


class Kube:
    """One cluster, in one namespace."""

    def __init__(self, kubeconfig: Path, kubectl: str, namespace: str) -> None:
        self.kubeconfig = kubeconfig
        self._kubectl = kubectl
        self.namespace = namespace
        config = yaml.safe_load(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.context = ssl.create_default_context(cadata=_pem(cluster, "certificate-authority"))
        if "client-certificate" in user or "client-certificate-data" in user:
            self.context.load_cert_chain(
                *(_file(kubeconfig, user, part) for part in ("certificate", "key"))
            )
        headers = {"user-agent": "specification/1"}
        if "token" in user:
            headers["authorization"] = f"Bearer {user['token']}"
        self.server = cluster["server"]
        self.http = httpx.Client(
            base_url=self.server, verify=self.context, headers=headers, timeout=30
        )

    def close(self) -> None:
        self.http.delete(f"/api/v1/namespaces/{self.namespace}")
        self.http.close()

    def url(self, resource: str, name: str = "", sub: str = "", **query: Any) -> str:
        """The path of a resource in this namespace, or of one object or subresource of it."""
        root = ROOTS.get(resource) or ""
        if not root:
            group, _, plural = resource.rpartition("/")
            root, resource = f"/apis/{group}", plural
        middle = "" if resource in CLUSTER_WIDE else f"/namespaces/{self.namespace}"
        path = f"{root}{middle}/{resource}"
        path += f"/{name}" if name else ""
        path += f"/{sub}" if sub else ""
        return f"{path}?{httpx.QueryParams(query)}" if query else path

    def create(self, resource: str, obj: Object, **query: Any) -> Object:
        reply = self.http.post(self.url(resource, **query), json=obj)
        assert reply.status_code == 201, reply.text
        return reply.json()

    def refused(self, resource: str, obj: Object, status: int, **query: Any) -> Object:
        """Create, be refused with `status`, and return the Status."""
        reply = self.http.post(self.url(resource, **query), json=obj)
        assert reply.status_code == status, reply.text
        return reply.json()

    def get(self, resource: str, name: str, sub: str = "") -> Object:
        reply = self.http.get(self.url(resource, name, sub))
        assert reply.status_code == 200, reply.text
        return reply.json()

    def exists(self, resource: str, name: str) -> bool:
        return self.http.get(self.url(resource, name)).status_code == 200

    def items(self, resource: str, **query: Any) -> list[Object]:
        reply = self.http.get(self.url(resource, **query))
        assert reply.status_code == 200, reply.text
        return reply.json()["items"]

    def names(self, resource: str, **query: Any) -> list[str]:
        return [item["metadata"]["name"] for item in self.items(resource, **query)]

    def put(self, resource: str, obj: Object, sub: str = "", **query: Any) -> httpx.Response:
        return self.http.put(self.url(resource, obj["metadata"]["name"], sub, **query), json=obj)

    def patch(
        self, resource: str, name: str, body: Any, kind: str = MERGE, sub: str = "", **query: Any
    ) -> httpx.Response:
        url = self.url(resource, name, sub, **query)
        return self.http.patch(url, content=json.dumps(body), headers={"content-type": kind})

    def apply(
        self, resource: str, obj: Object, manager: str, sub: str = "", **query: Any
    ) -> httpx.Response:
        """Server-side apply."""
        name = obj["metadata"]["name"]
        return self.patch(resource, name, obj, APPLY, sub, fieldManager=manager, **query)

    def delete(
        self, resource: str, name: str, body: Object | None = None, **query: Any
    ) -> httpx.Response:
        url = self.url(resource, name, **query)
        return self.http.request("DELETE", url, json=body) if body else self.http.delete(url)

    def watch(self, resource: str, **query: Any) -> Iterator[Object]:
        """The events of a watch, which ends after `timeoutSeconds` (5)."""
        query = {"watch": "true", "timeoutSeconds": 5, **query}
        with self.http.stream("GET", self.url(resource, **query)) as reply:
            assert reply.status_code == 200, reply.read()
            for line in reply.iter_lines():
                yield json.loads(line)

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """Run kubectl in the namespace and return what it prints; it must succeed."""
        done = self.run_kubectl(*arguments, stdin=stdin)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def run_kubectl(
        self, *arguments: str, stdin: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        command = [self._kubectl, "--kubeconfig", str(self.kubeconfig), "-n", self.namespace]
        return subprocess.run(
            [*command, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


def eventually(check: Callable[[], Any], what: str = "") -> Any:
    """Return the first true value of `check`; fail when patience runs out."""
    return waiting.until(check, what or str(check), within_s=PATIENCE_S)


def _pem(cluster: Object, field: str) -> str:
    if f"{field}-data" in cluster:
        return base64.b64decode(cluster[f"{field}-data"]).decode()
    return Path(cluster[field]).read_text()


def _file(kubeconfig: Path, user: Object, part: str) -> str:
    if f"client-{part}" in user:
        return str(user[f"client-{part}"])
    path = kubeconfig.with_name(f".{kubeconfig.name}.{part}.pem")
    path.write_bytes(base64.b64decode(user[f"client-{part}-data"]))
    path.chmod(0o600)
    return str(path)
