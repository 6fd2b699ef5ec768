"""The cluster that the specifications of Jobs run on: simulated, or real with `--kube=real`."""

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import stem, waiting
from tests.kubesim.jobs.api import Api

_POOLS = "- {name: general, count: 2, allocatable: {cpu: '8', memory: 32Gi}}\n"
_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def cluster_kubeconfig(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """The administrator's kubeconfig of a cluster of two nodes, shared by the run."""
    if request.config.getoption("--kube") == "real":
        yield request.getfixturevalue("real_control_plane").kubeconfig
        return
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "pools.yaml").write_text(_POOLS)
    kubeconfig, log = folder / "kubeconfig", folder / "log"
    log.touch()
    options = ("--name=jobs", f"--pools={folder / 'pools.yaml'}", f"--kubeconfig={kubeconfig}")
    process = stem.start("shared.kubesim", *options, log=log)
    try:
        waiting.until(lambda: "ready " in log.read_text(), "the cluster is ready", within_s=60)
        yield kubeconfig
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture
def api(cluster_kubeconfig: Path) -> Iterator[Api]:
    """The cluster in a namespace of its own."""
    api = Api(cluster_kubeconfig, f"jobs-{os.getpid()}-{next(_numbers)}")
    yield api
    api.close()
