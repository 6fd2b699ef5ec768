"""Who sees the jobs of one queue learns nothing of others in its namespace, but that a name is taken."""

import json

import pytest

from tests.api.people import a_user, bound
from tests.api.queues import codes
from tests.api.serving import a_job, served
from tests.services.hubs import a_queue

pytestmark = pytest.mark.anyio
NDJSON = {"Content-Type": "application/x-ndjson"}


@pytest.mark.parametrize("route", ["jobs", "jobs:batch", "apply"])
async def test_a_hidden_job_is_not_waited_for_and_its_uid_is_not_told(tmp_path, route):
    """By each way that jobs come in: waiting for it is waiting for nobody; its name is taken, and no more."""
    async with served(tmp_path) as hub:
        for name in ("mine", "theirs"):
            assert set(await codes(hub, *a_queue(name))) == {None}
        kim = await a_user(hub, "kim")
        await bound(hub, "kim", "submitter", users=["kim"], queues=["mine"])
        hidden = await hub.admin.post("/v1/jobs", json=a_job("zebra", queue="theirs"))
        uid = hidden.json()["uid"]

        async def told(job):
            if route == "jobs:batch":
                return await kim.post(f"/v1/{route}", content=json.dumps(job), headers=NDJSON)
            return await kim.post(f"/v1/{route}", json=job)

        waits = a_job("waits", queue="mine")
        waits["metadata"]["annotations"] = {"roadstead.dev/after": "zebra"}
        assert "UnknownDependency" in (await told(waits)).text
        taken = await told(a_job("zebra", queue="mine"))
        assert "zebra" in taken.text
        assert uid not in taken.text
