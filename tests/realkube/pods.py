"""A pod's container as a process here: no kubelet of a test runs containers.

The process gets the arguments and the environment of the pod and nothing else; what the pod mounts from
Secrets is read from the API server and laid out below a folder, and paths lead there. In the
place of the mounted service account it gets a kubeconfig with a token of that account (TokenRequest).
"""

import base64
import dataclasses
import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests import stem
from tests.e2e.running import REPOSITORY
from tests.realkube.plane import Plane

# What is a pod's own and no process's here: an address of its own. Port 0 is any that is free.
FREE = {
    "--listen": "127.0.0.1:0",
    "--metrics-port": "0",
    "--metrics-host": "127.0.0.1",
    "--advertise": "",
}
_VOLUMES = "volumes"
Process = subprocess.Popen[bytes] | stem.Process


@dataclasses.dataclass(frozen=True)
class PodHere:
    """One pod by its `spec`; `folder`: where its volumes are laid out, `claims`: where those that last are.

    `own`: values of flags that are other here than in a pod; `image`: variables of its image.
    """

    plane: Plane
    namespace: str
    spec: Mapping[str, Any]
    folder: Path
    claims: Path | None = None
    own: Mapping[str, str] = dataclasses.field(default_factory=lambda: FREE)
    image: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def container(self) -> dict[str, Any]:
        """The one container that it has."""
        (container,) = self.spec["containers"]
        return dict(container)

    def arguments(self) -> list[str]:
        """The pod's arguments; paths below mounts lead into the folder."""
        mine = []
        for each in self.container["args"]:
            flag, equals, value = each.partition("=")
            mine.append(f"{flag}{equals}{self.own.get(flag, self._here(value))}")
        if "--hub-in-cluster" in mine:
            mine[mine.index("--hub-in-cluster")] = f"--hub-kubeconfig={self._account()}"
        elif self.container["name"] == "agent":
            mine.append(f"--kubeconfig={self._account()}")
        return mine

    def environment(self) -> dict[str, str]:
        """The pod's variables, those from Secrets as the cluster has them, and PATH."""
        found = {"PATH": os.environ["PATH"], "PYTHONUNBUFFERED": "1", **self.image}
        for each in self.container.get("env", ()):
            if "value" in each:
                found[each["name"]] = each["value"]
            elif "fieldRef" in each["valueFrom"]:
                found[each["name"]] = "127.0.0.1"  # its address: no other field is asked for
            else:
                wanted = each["valueFrom"]["secretKeyRef"]
                found[each["name"]] = self._secret(wanted["name"])[wanted["key"]]
        return found

    def mount(self) -> None:
        """Lay out the volumes: Secrets as files, claims as folders that stay, others as empty folders."""
        sources = {each["name"]: each for each in self.spec.get("volumes", ())}
        for mount in self.container.get("volumeMounts", ()):
            folder = Path(self._here(mount["mountPath"]))
            source = sources.get(mount["name"], {})
            if (claim := source.get("persistentVolumeClaim")) and self.claims is not None:
                kept = self.claims / claim["claimName"]
                kept.mkdir(parents=True, exist_ok=True)
                folder.parent.mkdir(parents=True, exist_ok=True)
                folder.symlink_to(kept)
                continue
            folder.mkdir(parents=True, exist_ok=True)
            if "secret" in source:
                self._lay_out(source["secret"], folder)

    def start(self, log: Path) -> Process:
        """The process; what it says goes to `log`.

        Its image runs what is called as the container is, here as a fork (tests/stem.py), or the pod's own
        command.
        """
        env = self.environment()
        if "command" not in self.container:
            return stem.start(
                self.container["name"], *self.arguments(), log=log, env=env, alone=True
            )
        program, *rest = self.container["command"]
        command = [str(REPOSITORY / ".venv/bin" / program), *rest]
        with log.open("ab") as file:
            return subprocess.Popen(command, stdout=file, stderr=file, cwd=REPOSITORY, env=env)

    def _lay_out(self, secret: Mapping[str, Any], folder: Path) -> None:
        content = self._secret(secret["secretName"], optional=secret.get("optional", False))
        names = {item["key"]: item["path"] for item in secret.get("items", ())}
        kept = folder / "..data"
        kept.mkdir()
        for key, name in (names or dict.fromkeys(content)).items():
            if key in content:
                (kept / (name or key)).write_text(content[key])
                (folder / (name or key)).symlink_to(kept / (name or key))  # as a kubelet does

    def _account(self) -> Path:
        return self.plane.kubeconfig_of(self.spec["serviceAccountName"], namespace=self.namespace)

    def _here(self, path: str) -> str:
        mounts = [mount["mountPath"] for mount in self.container.get("volumeMounts", ())]
        below = any(path == each or path.startswith(f"{each}/") for each in mounts)
        return str(self.folder / _VOLUMES / path.lstrip("/")) if below else path

    def _secret(self, name: str, *, optional: bool = False) -> Mapping[str, str]:
        asked = ["-n", self.namespace, "get", "secret", name, "-o", "json"]
        told = self.plane.kubectl(*asked, *(["--ignore-not-found"] if optional else []))
        content = json.loads(told)["data"] if told else {}
        return {key: base64.b64decode(value).decode() for key, value in content.items()}
