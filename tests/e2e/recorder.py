"""The truth recorder: what really ran, read from the members' API servers alone.

One thread per member lists once and then watches Jobs and pods from that resourceVersion, through
restarts of the server, and keeps every version it is shown. It knows nothing of hub and agents.
"""

import base64
import contextlib
import json
import ssl
import tempfile
import threading
import urllib.error
import urllib.request
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import httpx
import yaml

from tests import waiting

_INDEX = "batch.kubernetes.io/job-completion-index"
_RETRY_S = 0.1
_AGAIN_S, _MOST_TRIES = 1.0, 30


@dataclass
class JobTruth:
    """What was seen of one Job name, over all members."""

    uids: set[str] = field(default_factory=set)  # "<member>/<uid>"
    starts: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))  # index → pods
    completes: set[str] = field(default_factory=set)  # uids seen with Complete=True


class Recorder:
    """Watches members from the moment it is started until it is stopped."""

    def __init__(
        self, kubeconfigs: dict[str, Path], namespace: str, strangers: set[str] | None = None
    ) -> None:
        """`strangers`: Jobs ("<member>/<uid>") that were there before and do not count."""
        self._namespace = namespace
        self._strangers = strangers or set()
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self.jobs: dict[str, JobTruth] = defaultdict(JobTruth)
        self.faults: list[str] = []
        self._threads = [
            threading.Thread(
                target=self._follow, args=(member, ApiServer(path), kind), daemon=True
            )
            for member, path in kubeconfigs.items()
            for kind in ("jobs", "pods")
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()

    def completed(self) -> int:
        """How many names have been seen Complete."""
        with self._lock:
            return sum(1 for truth in self.jobs.values() if truth.completes)

    def violations(self, names: set[str], indexes: int) -> list[str]:
        """Every way in which the jobs `names` did not run exactly once, as sentences."""
        found = list(self.faults)
        with self._lock:
            for name in sorted(names):
                truth = self.jobs.get(name, JobTruth())
                if len(truth.uids) != 1:
                    found.append(f"{name}: {len(truth.uids)} Jobs: {sorted(truth.uids)}")
                if len(truth.completes) != 1:
                    found.append(f"{name}: {len(truth.completes)} times Complete")
                started = {i: len(pods) for i, pods in truth.starts.items()}
                if started != {str(i): 1 for i in range(indexes)}:
                    found.append(f"{name}: pod starts by index {started}")
        return found

    def _follow(self, member: str, server: "ApiServer", kind: str) -> None:
        path = (
            f"/apis/batch/v1/namespaces/{self._namespace}/jobs"
            if kind == "jobs"
            else f"/api/v1/namespaces/{self._namespace}/pods"
        )
        version = ""
        while not self._stop.is_set():
            try:
                if not version:
                    listing = server.get(path)
                    version = listing["metadata"]["resourceVersion"]
                    for item in listing["items"]:
                        self._see(member, kind, item)
                for event in server.watch(path, version):
                    if event["type"] == "ERROR":
                        self.faults.append(f"{member}/{kind}: watch from {version}: {event}")
                        return
                    version = event["object"]["metadata"]["resourceVersion"]
                    if event["type"] != "BOOKMARK":
                        self._see(member, kind, event["object"])
                    if self._stop.is_set():
                        return
            except (OSError, ValueError, urllib.error.URLError):
                self._stop.wait(_RETRY_S)

    def _see(self, member: str, kind: str, item: dict[str, Any]) -> None:
        meta, status = item["metadata"], item.get("status", {})
        with self._lock:
            if kind == "jobs":
                key = f"{member}/{meta['uid']}"
                if key in self._strangers:
                    return
                truth = self.jobs[meta["name"]]
                truth.uids.add(key)
                if any(
                    c["type"] == "Complete" and c["status"] == "True"
                    for c in status.get("conditions") or ()
                ):
                    truth.completes.add(key)
            elif status.get("phase") in {"Running", "Succeeded", "Failed"}:
                job = meta.get("labels", {}).get("batch.kubernetes.io/job-name", "")
                index = meta.get("annotations", {}).get(_INDEX, "0")
                self.jobs[job].starts[index].add(f"{member}/{meta['uid']}")


class ApiServer:
    """A member's API server, as its kubeconfig names it."""

    def __init__(self, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self._url = cluster["server"]
        ca = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self._tls = ssl.create_default_context(cadata=ca)
        self._headers = {"Accept": "application/json"}
        if "token" in user:
            self._headers["Authorization"] = f"Bearer {user['token']}"
        else:
            with tempfile.NamedTemporaryFile() as file:
                file.write(base64.b64decode(user["client-certificate-data"]))
                file.write(base64.b64decode(user["client-key-data"]))
                file.flush()
                self._tls.load_cert_chain(file.name)

    def get(self, path: str) -> dict[str, Any]:
        with self._open(path, 10) as answer:
            return json.load(answer)

    def find(self, resource: str, name: str = "", namespace: str = "") -> dict[str, Any]:
        """Get an object or a list, of `deployments.v1.apps` for instance; {} if the object is absent.

        A kind whose definition is new answers 429 for a moment: asks again then, as kubectl does.
        """
        plural, version, *group = resource.split(".", 2)
        parts = ["/apis", *group, version] if group else ["/api", version]
        parts += ["namespaces", namespace] if namespace else []
        path = "/".join([*parts, plural, *([name] if name else [])])
        for _ in range(_MOST_TRIES):
            try:
                return self.get(path)
            except urllib.error.HTTPError as refusal:
                refusal.close()
                if refusal.code == httpx.codes.NOT_FOUND:
                    return {}
                if refusal.code != httpx.codes.TOO_MANY_REQUESTS:
                    raise
            waiting.pause(_AGAIN_S, why="the API server asks for it")
        return self.get(path)

    def watch(self, path: str, version: str):
        query = f"?watch=1&allowWatchBookmarks=true&resourceVersion={version}"
        with contextlib.closing(self._open(path + query, 20)) as answer:
            for line in answer:
                yield json.loads(line)

    def _open(self, path: str, timeout_s: float):
        request = urllib.request.Request(self._url + path, headers=self._headers)
        return urllib.request.urlopen(request, timeout=timeout_s, context=self._tls)
