"""A chart applied to a real control plane, and its pod as a process here: no kubelet runs containers.

The process gets the arguments and the environment of the rendered pod and nothing else; what the pod mounts
from Secrets is read from the API server and laid out below a folder, and paths lead there. In the
place of the mounted service account it gets a kubeconfig with a token of that account (TokenRequest).
"""

import base64
import contextlib
import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.charts import helm
from tests.charts.helm import AGENT, Release
from tests.e2e.running import REPOSITORY
from tests.realkube.plane import Plane

# What is a pod's own and no process's here: an address of its own. Port 0 is any that is free.
_OWN = {"--listen": "127.0.0.1:0", "--metrics-port": "0", "--metrics-host": "127.0.0.1"}


@dataclasses.dataclass(frozen=True)
class Installed:
    """One release in one cluster; `folder` is where its pod's volumes are."""

    plane: Plane
    release: Release
    folder: Path
    workload: dict[str, Any]

    @property
    def module(self) -> str:
        """What the image runs: `hub` or `agent`."""
        return self.release.chart.removeprefix("roadstead-")

    @property
    def _pod(self) -> dict[str, Any]:
        pod: dict[str, Any] = self.workload["spec"]["template"]["spec"]
        return pod

    @property
    def _container(self) -> dict[str, Any]:
        (container,) = self._pod["containers"]
        return dict(container)

    def arguments(self) -> list[str]:
        """The pod's arguments; paths below mounts lead into the folder."""
        mine = []
        for each in self._container["args"]:
            flag, equals, value = each.partition("=")
            mine.append(f"{flag}{equals}{_OWN.get(flag, self._here(value))}")
        kubeconfig = f"={self._account()}"
        if "--hub-in-cluster" in mine:
            mine[mine.index("--hub-in-cluster")] = f"--hub-kubeconfig{kubeconfig}"
        elif self.release.chart == AGENT:
            mine.append(f"--kubeconfig{kubeconfig}")
        return mine

    def environment(self) -> dict[str, str]:
        """The pod's variables, those from Secrets as the cluster has them, and PATH."""
        found = {"PATH": os.environ["PATH"], "PYTHONUNBUFFERED": "1"}
        for each in self._container["env"]:
            if "value" in each:
                found[each["name"]] = each["value"]
            else:
                wanted = each["valueFrom"]["secretKeyRef"]
                found[each["name"]] = self._secret(wanted["name"])[wanted["key"]]
        return found

    def mount(self) -> None:
        """Lay out the volumes: Secrets as files, anything else as an empty folder."""
        sources = {each["name"]: each for each in self._pod["volumes"]}
        for mount in self._container["volumeMounts"]:
            folder = self._here(mount["mountPath"])
            Path(folder).mkdir(parents=True, exist_ok=True)
            secret = sources.get(mount["name"], {}).get("secret")
            if secret is None:
                continue
            content = self._secret(secret["secretName"])
            names = {item["key"]: item["path"] for item in secret.get("items", ())}
            kept = Path(folder, "..data")
            kept.mkdir()
            for key, name in (names or dict.fromkeys(content)).items():
                (kept / (name or key)).write_text(content[key])
                Path(folder, name or key).symlink_to(kept / (name or key))  # as a kubelet does

    def log(self) -> Path:
        """What the process said."""
        return self.folder / f"{self.module}.log"

    @contextlib.contextmanager
    def running(self) -> Iterator[subprocess.Popen[Any]]:
        """The pod's process for the length of the block; a hub's first line is on its stdout."""
        self.mount()
        log = self.log().open("wb")
        process = subprocess.Popen(
            [sys.executable, "-m", self.module, *self.arguments(), "--die-with-parent"],
            stdout=subprocess.PIPE if self.module == "hub" else log,
            stderr=log,
            cwd=REPOSITORY,
            env=self.environment(),
        )
        log.close()
        try:
            yield process
        finally:
            process.terminate()
            process.wait(20)
            if process.stdout is not None:
                process.stdout.close()

    def _account(self) -> Path:
        name = self._pod["serviceAccountName"]
        return self.plane.kubeconfig_of(name, namespace=self.release.namespace)

    def _here(self, path: str) -> str:
        mounts = [mount["mountPath"] for mount in self._container["volumeMounts"]]
        below = any(path == each or path.startswith(f"{each}/") for each in mounts)
        return str(self.folder / "volumes" / path.lstrip("/")) if below else path

    def _secret(self, name: str) -> Mapping[str, str]:
        asked = ("-n", self.release.namespace, "get", "secret", name, "-o", "json")
        content = json.loads(self.plane.kubectl(*asked))["data"]
        return {key: base64.b64decode(value).decode() for key, value in content.items()}


def install(plane: Plane, release: Release, folder: Path) -> Installed:
    """Install the release with Helm; its pod runs only where `Installed.running` is entered."""
    helm.install(release, plane.kubeconfig)
    kinds = {"Deployment", "StatefulSet"}
    (workload,) = [each for each in helm.objects(release) if each["kind"] in kinds]
    folder.mkdir(parents=True, exist_ok=True)
    return Installed(plane, release, folder, workload)
