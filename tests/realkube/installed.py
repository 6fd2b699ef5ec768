"""A chart applied to a real control plane, and its pod as a process here (pods.py)."""

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.charts import helm
from tests.charts.helm import Release
from tests.realkube.plane import Plane
from tests.realkube.pods import PodHere


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
    def pod(self) -> PodHere:
        """Its pod, as the workload has it."""
        spec = self.workload["spec"]["template"]["spec"]
        return PodHere(self.plane, self.release.namespace, spec, self.folder)

    def log(self) -> Path:
        """What the process said."""
        return self.folder / f"{self.module}.log"

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """The pod's process runs for the length of the block."""
        self.pod.mount()
        process = self.pod.start(self.log())
        try:
            yield
        finally:
            process.terminate()
            process.wait(20)


def install(plane: Plane, release: Release, folder: Path) -> Installed:
    """Install the release with Helm; its pod runs only where `Installed.running` is entered."""
    helm.install(release, plane.kubeconfig)
    kinds = {"Deployment", "StatefulSet"}
    (workload,) = [each for each in helm.objects(release) if each["kind"] in kinds]
    folder.mkdir(parents=True, exist_ok=True)
    return Installed(plane, release, folder, workload)
