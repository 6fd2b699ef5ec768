"""A kubelet for what is installed: pods of the namespace roadstead run as processes here (pods.py).

The fake kubelets leave these pods alone (stages.yaml). A pod is Ready once its process says so on /readyz; a
Job's ends as its process does. A process that ends by itself is a fault: nothing is started anew.
"""

import contextlib
import json
import shutil
import subprocess
import threading
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any, Final, Self

from roadstead.cli import ports
from tests import stem
from tests.e2e.recorder import ApiServer
from tests.realkube.plane import Plane, PlaneError
from tests.realkube.pods import FREE, PodHere, Process

NAMESPACE: Final = "roadstead"
_LOOK_S: Final = 0.3
_STOP_S: Final = 30
# An API server that is slow, or a pod that went between a look and a word about it.
_BUSY: Final = (OSError, HTTPException, PlaneError, subprocess.TimeoutExpired)
Json = dict[str, Any]


@dataclass
class _Running:
    """One pod's process."""

    plane: Plane
    name: str
    pod: PodHere
    process: Process
    port: int  # where it answers /readyz
    told: list[str] = field(default_factory=list)  # what the API server was told of it

    @property
    def module(self) -> str:
        """`hub`, `agent`, or the name of a Job's container."""
        return str(self.pod.container["name"])

    @property
    def answers(self) -> bool:
        url = f"http://127.0.0.1:{self.port}/readyz"
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
        return False


class Kubelet:
    """Looks after the pods of some planes for the length of a `with` block.

    `folder` takes volumes and logs; `env`: what images have besides what the pods say.
    """

    def __init__(self, planes: Sequence[Plane], folder: Path, env: Mapping[str, str]) -> None:
        self._planes = [
            (plane, ApiServer(plane.kubeconfig_for("looks", cluster_role="view")))
            for plane in planes
        ]
        self._folder = folder
        self._env = dict(env)
        self._running: dict[str, _Running] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look_after, daemon=True)
        self.ended: list[str] = []  # Jobs whose process has ended well
        self.faults: list[str] = []
        self.troubles: list[str] = []

    def __enter__(self) -> Self:
        stem.launcher()  # it ends with the thread that first asks for it
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(60)
        for uid in list(self._running):
            self._end(uid)

    def ready(self, module: str) -> list[int]:
        """The ports of the processes of `module` that have said that they are ready."""
        found = list(self._running.values())
        return [each.port for each in found if each.module == module and "Running" in each.told]

    def logs(self) -> str:
        """What all of them said, for a test that fails."""
        texts = sorted(self._folder.glob("*.log"))
        said = [f"--- {path.name}\n{path.read_text()[-3000:]}" for path in texts]
        return "\n".join([*said, "--- the kubelet", *self.faults, *self.troubles[-20:]])

    def _look_after(self) -> None:
        while not self._stop.wait(_LOOK_S):
            try:
                for plane, server in self._planes:
                    listed = server.get(f"/api/v1/namespaces/{NAMESPACE}/pods")["items"]
                    self._follow(plane, {each["metadata"]["uid"]: each for each in listed})
            except _BUSY as trouble:  # looked at again, as a kubelet does
                self.troubles.append(repr(trouble)[:300])
            except Exception as fault:  # a thread's would be seen nowhere
                self.faults.append(repr(fault))
                raise

    def _follow(self, plane: Plane, listed: Mapping[str, Json]) -> None:
        for uid, running in list(self._running.items()):
            wanted = uid in listed and "deletionTimestamp" not in listed[uid]["metadata"]
            if running.plane is plane and not wanted:
                self._end(uid)
        for uid, pod in listed.items():
            if "deletionTimestamp" in pod["metadata"] or "nodeName" not in pod["spec"]:
                continue
            if pod["status"]["phase"] == "Pending" and uid not in self._running:
                self._begin(plane, pod)
            elif uid in self._running:
                self._report(self._running[uid])

    def _begin(self, plane: Plane, pod: Json) -> None:
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        (port,) = ports.free(1)
        own = {**FREE, "--listen": f"127.0.0.1:{port}", "--metrics-port": str(port)}
        folder, claims = self._folder / uid, self._folder / "claims" / plane.name
        shutil.rmtree(folder, ignore_errors=True)  # of a try that ended early
        here = PodHere(plane, NAMESPACE, pod["spec"], folder, claims, own, self._env)
        here.mount()
        process = here.start(self._folder / f"{plane.name}-{name}-{uid[:4]}.log")
        self._running[uid] = _Running(plane, name, here, process, port)

    def _report(self, running: _Running) -> None:
        code = running.process.poll()
        is_job = running.pod.spec["restartPolicy"] != "Always"
        if code is None:
            if "Running" not in running.told and (is_job or running.answers):
                self._tell(running, "Running")
            return
        if not is_job or code:
            self.faults.append(f"{running.name} ended with {code}")
        phase = "Failed" if code else "Succeeded"
        if phase not in running.told:
            self._tell(running, phase, code)
            if not code:
                self.ended.append(running.name)

    def _tell(self, running: _Running, phase: str, code: int = 0) -> None:
        """Write the pod's status, as a kubelet does."""
        runs = phase == "Running"
        state = {"running": {}} if runs else {"terminated": {"exitCode": code}}
        container = running.pod.container
        ready = "True" if runs else "False"
        status = {
            "phase": phase,
            "conditions": [
                {"type": kind, "status": ready} for kind in ("Ready", "ContainersReady")
            ],
            "containerStatuses": [
                {
                    "name": container["name"],
                    "image": container["image"],
                    "imageID": "",
                    "ready": runs,
                    "started": runs,
                    "restartCount": 0,
                    "state": state,
                }
            ],
        }
        patch = ("--subresource=status", "--type=strategic", "-p", json.dumps({"status": status}))
        running.plane.kubectl("-n", NAMESPACE, "patch", "pod", running.name, *patch)
        running.told.append(phase)

    def _end(self, uid: str) -> None:
        running = self._running.pop(uid)
        running.process.terminate()
        try:
            running.process.wait(_STOP_S)
        except (subprocess.TimeoutExpired, TimeoutError):
            self.faults.append(f"{running.name} did not end within {_STOP_S} s")
            running.process.kill()
            running.process.wait()
