"""What people do with kubectl on the hub cluster."""

import asyncio
from pathlib import Path

import pytest
import yaml

from hub.store import objects
from shared.kinds.registry import parse
from tests.bridge.guide import CRD, CRDS, workload
from tests.bridge.hub_cluster import until, world
from tests.services.placements.fleet import GUIDE

pytestmark = [pytest.mark.anyio, pytest.mark.kubectl]


async def test_the_guide_can_be_applied_again(tmp_path: Path):
    """Unchanged manifests are unchanged, changed ones configured: the hub's kinds like any other."""
    async with world(tmp_path) as it:
        await until(lambda: it.get("CustomResourceDefinition", CRD, version=CRDS))
        files = sorted(GUIDE.glob("*.yaml"))
        for _ in range(2):
            for file in files:
                await kubectl(tmp_path, "apply", "-f", str(file))
        for file in files:
            said = await kubectl(tmp_path, "apply", "-f", str(file))
            assert "configured" not in said, said
        changed = tmp_path / "changed.yaml"
        (queue,) = GUIDE.glob("*2-*.yaml")
        changed.write_text(queue.read_text().replace('"32"', '"33"'))
        assert "configured" in await kubectl(tmp_path, "apply", "-f", str(changed))
        await until(lambda: workload(it, "mock-workload"))


@pytest.mark.parametrize("side", [(), ("--server-side", "--force-conflicts")])
async def test_a_cohort_that_is_taken_out_of_an_old_manifest_is_left(tmp_path: Path, side):
    """Written in v1beta1, whoever merges: the line taken out, the queue is in no cohort any more."""
    async with world(tmp_path) as it:
        await until(lambda: it.get("CustomResourceDefinition", CRD, version=CRDS))
        (queue,) = GUIDE.glob("*2-*.yaml")
        lines = queue.read_text().splitlines(keepends=True)
        alone = tmp_path / "alone.yaml"
        alone.write_text("".join(line for line in lines if "cohort:" not in line))
        for file, member in ((queue, True), (alone, False), (queue, True), (alone, False)):
            await kubectl(tmp_path, "apply", *side, "-f", str(file))
            found = await it.get("ClusterQueue", "cluster-queue", version="kueue.x-k8s.io/v1beta2")
            assert ("cohortName" in found["spec"]) is member


PREEMPTS = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: old-words}
spec:
  namespaceSelector: {}
  flavorFungibility: {whenCanBorrow: Borrow, whenCanPreempt: Preempt}
"""


async def test_older_words_of_fungibility_are_those_of_every_door(tmp_path: Path):
    """kubectl keeps `Preempt` as MayStopSearch, and what it has kept can be applied by REST."""
    async with world(tmp_path) as it:
        await until(lambda: it.get("CustomResourceDefinition", CRD, version=CRDS))
        file = tmp_path / "queue.yaml"
        file.write_text(PREEMPTS)
        await kubectl(tmp_path, "apply", "-f", str(file))
        found = await until(
            lambda: it.hub.hub.read(
                objects.find, "kueue.x-k8s.io", "ClusterQueue", "", "old-words"
            )
        )
        words = dict.fromkeys(("whenCanBorrow", "whenCanPreempt"), "MayStopSearch")
        assert found.spec["flavorFungibility"] == words
        assert parse(yaml.safe_load(PREEMPTS)).spec["flavorFungibility"] == words


async def kubectl(folder: Path, *words: str) -> str:
    """Run it against the hub cluster; what it printed."""
    process = await asyncio.create_subprocess_exec(
        "kubectl",
        "--kubeconfig",
        str(folder / "hub.kubeconfig"),
        *words,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    said, complaint = await process.communicate()
    assert process.returncode == 0, complaint.decode()
    return said.decode()
