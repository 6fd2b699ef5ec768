"""A member's API server as its administrator speaks to it, past every link."""

import base64
import json
import ssl
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import yaml

from shared import labels
from tests.chaos.history import seconds

_ANSWER_S = 5.0
_CONTAINER = {"name": "main", "image": "example.com/task:1"}
Json = dict[str, Any]


class Member:
    """One member: faults on request, namespaces, Jobs."""

    def __init__(self, name: str, kubeconfig: Path) -> None:
        self.name = name
        config = yaml.safe_load(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self._url = cluster["server"]
        ca = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self._tls = ssl.create_default_context(cadata=ca)
        self._headers = {
            "Authorization": f"Bearer {user['token']}",
            "Content-Type": "application/json",
        }

    def request(self, method: str, path: str, body: Json | None = None) -> Json:
        """One request. Raises OSError, of which HTTPError is one."""
        payload = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self._url + path, data=payload, method=method, headers=self._headers
        )
        with urllib.request.urlopen(request, timeout=_ANSWER_S, context=self._tls) as answer:
            return json.load(answer)

    def add_fault(self, **fault: Any) -> None:
        """Have the API server fail as `shared.kubesim.server.faults` describes. Raises OSError."""
        self.request("POST", "/_sim/faults", fault)

    def clear_faults(self) -> None:
        """End all faults. Raises OSError."""
        self.request("DELETE", "/_sim/faults")

    def delete_job(self, namespace: str, name: str, uid: str) -> None:
        """Delete exactly this Job, as a person would; a server that does not answer is let be."""
        path = f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}"
        options = {"propagationPolicy": "Background", "preconditions": {"uid": uid}}
        try:
            self.request("DELETE", path, options)
        except OSError:
            return

    def plant(self, namespace: str, manifest: Json) -> str:
        """Create somebody else's Job, and its namespace; its uid."""
        self.make_namespace(namespace)
        path = f"/apis/batch/v1/namespaces/{namespace}/jobs"
        return self.request("POST", path, manifest)["metadata"]["uid"]

    def plant_map(self, namespace: str, manifest: Json) -> str:
        """Create a ConfigMap of the member's own people; its uid."""
        return self.request("POST", f"/api/v1/namespaces/{namespace}/configmaps", manifest)[
            "metadata"
        ]["uid"]

    def maps(self, namespace: str) -> dict[str, Json]:
        """ "<member>/<name>" → uid, data and whether it is ours, of every ConfigMap. Raises OSError."""
        listing = self.request("GET", f"/api/v1/namespaces/{namespace}/configmaps")
        return {
            f"{self.name}/{each['metadata']['name']}": {
                "uid": each["metadata"]["uid"],
                "ours": labels.MANAGED_BY in (each["metadata"].get("labels") or {}),
                "data": each.get("data") or {},
                "created": seconds(each["metadata"]["creationTimestamp"]),
            }
            for each in listing["items"]
        }

    def make_namespace(self, namespace: str) -> None:
        """Create a namespace where there is none."""
        made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        try:
            self.request("POST", "/api/v1/namespaces", made)
        except urllib.error.HTTPError as refusal:
            refusal.close()
            if refusal.code != 409:
                raise

    def mark(self, namespace: str, name: str) -> None:
        """Create a Job and a pod of that name that never run: what a watch shows before is older."""
        template = {"spec": {"restartPolicy": "Never", "containers": [_CONTAINER]}}
        job = {"suspend": True, "template": template}
        pod = {**template["spec"], "nodeSelector": {"no-such": "node"}}
        for path, kind, spec in (("apis/batch/v1", "Job", job), ("api/v1", "Pod", pod)):
            version = "v1" if kind == "Pod" else "batch/v1"
            body = {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}
            plural = f"{kind.lower()}s"
            self.request("POST", f"/{path}/namespaces/{namespace}/{plural}", body)

    def present(self, namespace: str) -> set[str]:
        """ "<member>/<uid>" of every Job and pod in a namespace now. Raises OSError."""
        found = set()
        for kind in ("apis/batch/v1", "api/v1"):
            plural = "jobs" if "batch" in kind else "pods"
            listing = self.request("GET", f"/{kind}/namespaces/{namespace}/{plural}")
            found |= {f"{self.name}/{each['metadata']['uid']}" for each in listing["items"]}
        return found
