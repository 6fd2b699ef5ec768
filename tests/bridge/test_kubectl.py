"""What people do with kubectl on the hub cluster."""

import asyncio
from pathlib import Path

import pytest

from tests.bridge.hub_cluster import until, world
from tests.bridge.test_jobs import CRD, CRDS, workload
from tests.placements.fleet import GUIDE

pytestmark = [pytest.mark.anyio, pytest.mark.kubectl]


async def test_the_guide_can_be_applied_again(tmp_path: Path):
    """Unchanged manifests are unchanged, changed ones configured: the hub's kinds like any other."""
    async with world(tmp_path) as it:
        await until(lambda: it.get("CustomResourceDefinition", CRD, version=CRDS))
        files = sorted(GUIDE.glob("*.yaml"))
        for _ in range(2):
            for file in files:
                await kubectl(tmp_path, "apply", "-f", str(file))
        assert "unchanged" in await kubectl(tmp_path, "apply", "-f", str(files[0]))
        changed = tmp_path / "changed.yaml"
        (queue,) = GUIDE.glob("*2-*.yaml")
        changed.write_text(queue.read_text().replace('"32"', '"33"'))
        assert "configured" in await kubectl(tmp_path, "apply", "-f", str(changed))
        await until(lambda: workload(it, "mock-workload"))


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
