"""Whose a job is: who submitted it by REST, whom the hub cluster wrote down, else nobody known."""

import pytest

from hub.domain.workloads.origin import Origin
from hub.services.context.settings import Intake
from hub.services.jobs.accept import submit_jobs
from hub.services.reading.draft import draft
from hub.store import workloads
from shared.kinds.registry import parse_job
from tests.api.serving import a_job
from tests.store.build import START, opened

pytestmark = pytest.mark.anyio
SAID = "roadstead.dev/submitted-by"


@pytest.mark.parametrize(
    ("origin", "caller", "annotated", "owner"),
    [
        (Origin.REST, "ann", "", "ann"),
        (Origin.HUB_CLUSTER, "", "kim", "kim"),
        (Origin.HUB_CLUSTER, "", "", ""),
        (Origin.HUB_CLUSTER, "", "k" * 300, "k" * 253),
    ],
)
async def test_whose_a_job_is(tmp_path, origin, caller, annotated, owner):
    """It is kept with the job from its first row on."""
    manifest = a_job("j")
    if annotated:
        manifest["metadata"]["annotations"] = {SAID: annotated}
    given = draft(
        parse_job(manifest, origin=origin),
        START,
        origin=origin,
        submitted_by=caller,
    )
    async with opened(tmp_path) as db:
        await db.write(lambda tx: submit_jobs(tx, [given], Intake(), strict=False))
        row = await db.read(lambda tx: workloads.get(tx, given.uid))
        assert row is not None
        assert row.owner == owner
