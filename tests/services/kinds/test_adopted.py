"""Objects that run as jobs, which a member holds from before a restore and the hub has forgotten: as Jobs."""

from pathlib import Path
from typing import Any

import pytest

from agent.objects.manifests import as_written
from hub.services.jobs import adopt
from hub.services.works.restored import begin_recovery
from tests.services.hubs import a_queue
from tests.services.kinds.fleet import QUEUE, a_fleet, a_jobset, a_pytorchjob, a_rayjob
from tests.services.members.hubs import a_stray, ran

pytestmark = pytest.mark.anyio
KINDS = pytest.mark.parametrize(
    "manifest", [a_jobset(), a_pytorchjob(), a_rayjob()], ids=["jobset", "pytorch", "ray"]
)


@pytest.fixture
def before(tmp_path: Path) -> Path:
    """A folder of the store from before."""
    folder = tmp_path / "before"
    folder.mkdir()
    return folder


async def written_in_member(folder: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    """The object that a hub gave to a member, as its agent reports that it may have been written."""
    async with a_fleet(folder) as fleet:
        agent = await fleet.member("north")
        await fleet.apply(*a_queue("q", quota={"cpu": "100", "memory": "100Gi"}))
        (uid,) = await fleet.apply(manifest)
        return as_written((await fleet.told(agent, uid))["manifest"] | {"status": {}})


@KINDS
async def test_a_forgotten_object_is_adopted_in_the_default_queue(
    tmp_path: Path, before: Path, manifest: dict[str, Any]
):
    """Its queue is lost in the member, as a Job's is: it gets LocalQueue default, and runs on."""
    written = await written_in_member(before, manifest)
    assert QUEUE not in written["metadata"]["labels"]
    async with a_fleet(tmp_path) as fleet:
        agent, hub = await fleet.member("north"), fleet.exchange
        await hub.write(begin_recovery, "yesterday", "somebody", ())
        told = {"epoch": 3, "object_uid": "m-1", "manifest": written}
        await agent.sync(a_stray(hub, "forgotten", "inc-0", **told))
        await hub.write(adopt.adopt_job, "forgotten", "", "ann", adopt.INTAKE, "sue")
        row = await fleet.job("forgotten")
        assert (row.kind, row.api_version) == (written["kind"], written["apiVersion"])
        assert (row.state, row.epoch, row.queue, row.owner) == ("Offered", 3, "default", "sue")
        assert row.cluster_queue == "default", "its quota is charged"
        work = await hub.work("forgotten")
        assert work is not None
        assert (work.api_version, work.kind) == (row.api_version, row.kind)
        await agent.sync(ran("forgotten", 3, result="Succeeded", succeeded=1))
        assert (await fleet.job("forgotten")).state == "Succeeded"
