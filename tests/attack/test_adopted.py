"""What a member says of how a Job was written may be anything: adopting it ends in words alone."""

from pathlib import Path

import pytest

from hub.services.jobs import adopt
from hub.services.works.restored import begin_recovery
from shared.errors import Rejected
from tests.services.members.hubs import JOB, a_stray, running_hub

pytestmark = pytest.mark.anyio
OLD = "inc-0"
ODD = {
    "another kind": {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "LocalQueue",
        "metadata": {"name": "one", "namespace": "team-a"},
        "spec": {"clusterQueue": "main"},
    },
    "a config map": {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "one", "namespace": "team-a"},
        "data": {"a": "b"},
    },
    "a bare workload": {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": {"name": "one", "namespace": "team-a"},
        "spec": {"queueName": "main", "podSets": []},
    },
    "no metadata": {"apiVersion": "batch/v1", "kind": "Job", "spec": {}},
    "a list": {"apiVersion": "v1", "kind": "List", "items": []},
    "of the cluster's own": {**JOB, "metadata": {"name": "one", "namespace": "kube-system"}},
    "another job's name": {**JOB, "metadata": {"name": "taken", "namespace": "team-a"}},
    "nothing": {},
}


@pytest.mark.parametrize("odd", ODD)
async def test_an_odd_manifest_is_refused_in_words(tmp_path: Path, odd: str):
    """Nothing is taken over."""
    async with running_hub(tmp_path) as hub:
        north = await hub.join("north")
        await hub.submit("taken")
        await hub.write(begin_recovery, "yesterday", "somebody", ())
        await hub.settled()
        told = {"epoch": 3, "object_uid": "m-north", "manifest": ODD[odd]}
        await north.sync(a_stray(hub, "unknown", OLD, **told))
        with pytest.raises(Rejected):
            await hub.write(adopt.adopt_job, "unknown", "", "ann")
