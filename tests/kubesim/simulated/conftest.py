"""Clusters for tests of what only the simulated one has: faults, persistence, its hub admission."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import stem, waiting
from tests.kubesim.server.kube import PATIENCE_S, Kube


class Process:
    """A simulated cluster as a process."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self.kubeconfig = folder / "kubeconfig"
        self._options = options
        self._log = folder / "log"
        self._kubes: list[Kube] = []
        self.start()

    def start(self) -> None:
        self._log.unlink(missing_ok=True)
        options = ("--name=sim", f"--kubeconfig={self.kubeconfig}", *self._options)
        self._process = stem.start("shared.kubesim", *options, log=self._log)
        waiting.until(self._is_ready, "ready", within_s=PATIENCE_S)

    def _is_ready(self) -> bool:
        assert self._process.poll() is None, self._log.read_text()
        return self._log.exists() and "ready " in self._log.read_text()

    def kill(self) -> None:
        """kill -9."""
        self._process.kill()
        self._process.wait(PATIENCE_S)

    def stop(self) -> int:
        """SIGTERM; returns the exit code."""
        self._process.terminate()
        return self._process.wait(PATIENCE_S)

    def kube(self, namespace: str = "default") -> Kube:
        self._kubes.append(Kube(self.kubeconfig, "kubectl", namespace))
        return self._kubes[-1]

    def close(self) -> None:
        """Close the clients and kill what still runs."""
        for kube in self._kubes:
            kube.http.close()
        self.kill()


@pytest.fixture
def run(tmp_path) -> Iterator[Callable[..., Process]]:
    """Start a cluster with command-line options."""
    started: list[Process] = []

    def run(*options: str) -> Process:
        folder = tmp_path / f"process-{len(started)}"
        folder.mkdir()
        started.append(Process(folder, *options))
        return started[-1]

    yield run
    for process in started:
        process.close()


@pytest.fixture(scope="module")
def sim(tmp_path_factory) -> Iterator[Kube]:
    """A cluster that forgets everything, shared by a module."""
    process = Process(tmp_path_factory.mktemp("sim"))
    yield process.kube()
    process.close()
