"""The cluster that the API server's specification runs on: simulated, or real with `--kube=real`."""

import itertools
import os
from collections.abc import Iterator

import pytest

from tests.kubesim.server.kube import Kube, eventually
from tests.realkube.agreement import Cluster

_numbers = itertools.count(1)


@pytest.fixture
def kube(any_cluster: Cluster) -> Iterator[Kube]:
    """The cluster, in a namespace of the test's own."""
    namespace = f"spec-{os.getpid()}-{next(_numbers)}"
    kube = Kube(any_cluster.kubeconfig, str(any_cluster.kubectl), namespace)
    reply = kube.http.post("/api/v1/namespaces", json={"metadata": {"name": namespace}})
    assert reply.status_code == 201, reply.text
    eventually(lambda: kube.exists("serviceaccounts", "default"), "the default ServiceAccount")
    yield kube
    kube.close()
