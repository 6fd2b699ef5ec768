"""A few HTTP verbs on a Kubernetes API server, simulated or real, for specifications of Jobs."""

import base64
import ssl
from pathlib import Path
from typing import Any

import httpx
import yaml

from tests import waiting

PATIENCE_S = 40
_MERGE = {"content-type": "application/merge-patch+json"}
Object = dict[str, Any]


class Api:
    """One cluster, as its administrator, in one namespace."""

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        config = yaml.safe_load(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        context = ssl.create_default_context(cadata=_text(cluster, "certificate-authority"))
        if "client-certificate" in user or "client-certificate-data" in user:
            files = [_file(kubeconfig, user, f"client-{part}") for part in ("certificate", "key")]
            context.load_cert_chain(*files)
        headers = {"authorization": f"Bearer {user['token']}"} if "token" in user else {}
        self._http = httpx.Client(base_url=cluster["server"], verify=context, headers=headers)
        self.namespace = namespace
        self._jobs = f"/apis/batch/v1/namespaces/{namespace}/jobs"
        self._pods = f"/api/v1/namespaces/{namespace}/pods"
        self._ask("POST", "/api/v1/namespaces", json={"metadata": {"name": namespace}})

    def close(self) -> None:
        self._http.delete(f"/api/v1/namespaces/{self.namespace}")
        self._http.close()

    def create_job(self, name: str, *, annotations=None, pod=None, **spec: Any) -> Object:
        """Create a Job of one small container; `pod` adds to its pod spec."""
        container = {"name": "main", "image": "busybox:1.36"}
        template = {
            "metadata": {"annotations": annotations or {}},
            "spec": {"restartPolicy": "Never", "containers": [container], **(pod or {})},
        }
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name},
            "spec": {**spec, "template": template},
        }
        return self._ask("POST", self._jobs, json=job)

    def job(self, name: str) -> Object | None:
        return self._get(f"{self._jobs}/{name}")

    def patch_job(self, name: str, **spec: Any) -> Object:
        body = {"spec": spec}
        return self._ask("PATCH", f"{self._jobs}/{name}", json=body, headers=_MERGE)

    def patch_job_status(self, name: str, **status: Any) -> Object:
        path = f"{self._jobs}/{name}/status"
        return self._ask("PATCH", path, json={"status": status}, headers=_MERGE)

    def delete_job(self, name: str, propagation: str) -> None:
        parameters = {"propagationPolicy": propagation}
        self._ask("DELETE", f"{self._jobs}/{name}", params=parameters)

    def delete_pod(self, name: str) -> None:
        self._ask("DELETE", f"{self._pods}/{name}")

    def pods(self, job: str) -> list[Object]:
        """The Job's pods, by name."""
        selector = {"labelSelector": f"batch.kubernetes.io/job-name={job}"}
        items = self._ask("GET", self._pods, params=selector)["items"]
        return sorted(items, key=lambda pod: pod["metadata"]["name"])

    def create_deployment(self, name: str, replicas: int, image: str = "nginx:1") -> Object:
        labels = {"app": name}
        template = {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "main", "image": image}]},
        }
        spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
        body = {"metadata": {"name": name}, "spec": spec}
        return self._ask("POST", self._apps("deployments"), json=body)

    def deployment(self, name: str) -> Object | None:
        return self._get(f"{self._apps('deployments')}/{name}")

    def patch_deployment(self, name: str, **spec: Any) -> Object:
        path = f"{self._apps('deployments')}/{name}"
        return self._ask("PATCH", path, json={"spec": spec}, headers=_MERGE)

    def delete_deployment(self, name: str) -> None:
        self._ask("DELETE", f"{self._apps('deployments')}/{name}")

    def replica_sets(self) -> list[Object]:
        """By revision."""
        items = self._ask("GET", self._apps("replicasets"))["items"]
        key = "deployment.kubernetes.io/revision"
        return sorted(items, key=lambda one: int(one["metadata"]["annotations"][key]))

    def pods_of_app(self, name: str) -> list[Object]:
        return self._ask("GET", self._pods, params={"labelSelector": f"app={name}"})["items"]

    def reasons(self, name: str) -> set[str]:
        """The reasons of the Events about an object."""
        listed = self._ask("GET", f"/api/v1/namespaces/{self.namespace}/events")["items"]
        return {event["reason"] for event in listed if event["involvedObject"]["name"] == name}

    def until(self, question: Any, what: str) -> Any:
        """Ask until the answer is truthy, and return it; fail naming `what`."""
        return waiting.until(question, what, within_s=PATIENCE_S)

    def until_condition(self, name: str, kind: str, status: str = "True") -> Object:
        """The Job, once it has the condition."""
        return self.until(
            lambda: (job := self.job(name)) and has_condition(job, kind, status) and job,
            f"{name} {kind}={status}",
        )

    def until_running(self, name: str, count: int = 1) -> list[Object]:
        """The Job's pods, once so many run."""
        return self.until(
            lambda: (
                sum(pod["status"].get("phase") == "Running" for pod in self.pods(name)) >= count
                and self.pods(name)
            ),
            f"{count} pods of {name} run",
        )

    def _apps(self, plural: str) -> str:
        return f"/apis/apps/v1/namespaces/{self.namespace}/{plural}"

    def _get(self, path: str) -> Object | None:
        answer = self._http.get(path)
        return None if answer.status_code == 404 else self._read(answer)

    def _ask(self, method: str, path: str, **request: Any) -> Object:
        return self._read(self._http.request(method, path, **request))

    def _read(self, answer: httpx.Response) -> Object:
        assert answer.is_success, f"{answer.request.method} {answer.request.url}: {answer.text}"
        return answer.json()


def has_condition(job: Object, kind: str, status: str = "True") -> bool:
    return conditions(job).get(kind, ("",))[0] == status


def conditions(job: Object) -> dict[str, tuple[str, str]]:
    """Status and reason by condition type, in the order in which they stand."""
    listed = job.get("status", {}).get("conditions", [])
    return {c["type"]: (c["status"], c.get("reason", "")) for c in listed}


def _text(entry: Object, key: str) -> str:
    if f"{key}-data" in entry:
        return base64.b64decode(entry[f"{key}-data"]).decode()
    return Path(entry[key]).read_text()


def _file(kubeconfig: Path, entry: Object, key: str) -> str:
    if key in entry:
        return str(entry[key])
    path = kubeconfig.with_suffix(f".{key}.pem")
    path.write_text(_text(entry, key))
    path.chmod(0o600)
    return str(path)
