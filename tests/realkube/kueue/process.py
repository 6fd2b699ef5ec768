"""Kueue as a process beside a control plane: installed as its release says, then run with its own rights."""

import base64
import contextlib
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from roadstead.cli import ports
from tests.e2e.running import REPOSITORY
from tests.realkube.kueue import building
from tests.realkube.kueue.installation import ACCOUNT, NAMESPACE, SECRET, Installation
from tests.realkube.plane import THRIFT, Plane, await_true

START_TIMEOUT_S: Final = 60
STOP_TIMEOUT_S: Final = 20
# The kernel ends it with the test run, however that ends.
_BOUND: Final = (
    "import os, sys; from shared import parent; parent.die_with_parent();"
    " os.execv(sys.argv[1], sys.argv[1:])"
)


class KueueProcess:
    """One Kueue for one plane; `start` and `stop` as often as wanted, with the same ports."""

    def __init__(self, plane: Plane, folder: Path) -> None:
        """Install its kinds and rights. Raises CannotBuildError, and PlaneError where they are refused."""
        self._plane = plane
        self._folder = folder
        self._built = building.kueue()
        self._webhook_port, self._health_port = ports.free(2)
        self._process: subprocess.Popen[Any] | None = None
        folder.mkdir(parents=True)
        installation = Installation(self._built.manifests, self._webhook_port)
        self._apply(*installation.definitions(), *installation.rights(), *installation.webhooks())
        self._mount_certificates()
        self._kubeconfig = plane.kubeconfig_of(ACCOUNT, namespace=NAMESPACE)
        (folder / "config.yaml").write_text(yaml.safe_dump(self._configuration()))

    def start(self) -> None:
        """Run it, and return when it answers; until then its webhooks refuse what they are asked for."""
        with (self._folder / "kueue.log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-c", _BOUND),
                    *(str(self._built.program), f"--config={self._folder / 'config.yaml'}"),
                    f"--kubeconfig={self._kubeconfig}",
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=REPOSITORY,
                env={**os.environ, **THRIFT},
            )
        await_true(self._answers, what="Kueue is ready", timeout_s=START_TIMEOUT_S)

    def stop(self) -> None:
        """End it; its webhooks stay and refuse what they are asked for, as when its pods are gone."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def log(self) -> str:
        """Its last words."""
        return (self._folder / "kueue.log").read_text()[-5000:]

    def _answers(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise AssertionError(f"Kueue ended by itself: {self.log()}")
        url = f"http://127.0.0.1:{self._health_port}/readyz"
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
        return False

    def _mount_certificates(self) -> None:
        """What a kubelet would lay out of its Secret."""
        shown = self._plane.kubectl("get", "secret", SECRET, "-n", NAMESPACE, "-o", "json")
        target = self._folder / "certificates"
        target.mkdir()
        for name, text in json.loads(shown)["data"].items():
            (target / name).write_bytes(base64.b64decode(text))

    def _apply(self, *objects: dict[str, Any]) -> None:
        listed = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        self._plane.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(listed))

    def _configuration(self) -> dict[str, Any]:
        """Kueue's configuration file; what is off is of no use to one Kueue on loopback.

        Leader election: there is one. Metrics: nobody reads them. The visibility API: it would need an
        APIService, which leads to a Service.
        """
        return {
            "apiVersion": "config.kueue.x-k8s.io/v1beta2",
            "kind": "Configuration",
            "namespace": NAMESPACE,
            "health": {"healthProbeBindAddress": f"127.0.0.1:{self._health_port}"},
            "metrics": {"bindAddress": "0"},
            "webhook": {
                "host": "127.0.0.1",
                "port": self._webhook_port,
                "certDir": str(self._folder / "certificates"),
            },
            "leaderElection": {"leaderElect": False},
            "featureGates": {"VisibilityOnDemand": False},
            "integrations": {"frameworks": ["batch/job"]},
        }


@contextlib.contextmanager
def running_kueue(plane: Plane, folder: Path) -> Iterator[KueueProcess]:
    """Kueue in a plane for the length of a `with` block."""
    process = KueueProcess(plane, folder)
    try:
        process.start()
        yield process
    finally:
        process.stop()
