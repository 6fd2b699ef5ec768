"""A plan of a Job whose name is taken by a job that its sender may not see."""

import pytest

from tests.api.people import a_user, bound
from tests.api.serving import a_job, served
from tests.services.build import in_cohort

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(("queues", "tells_uid"), [(["b"], False), (["a", "b"], True)])
async def test_a_plan_names_no_job_that_its_sender_may_not_see(tmp_path, queues, tells_uid):
    """Somebody of queue `b` plans a Job by the name of one in queue `a`: the name is taken, no more."""
    async with served(tmp_path) as hub:
        for each in (*in_cohort("a", "4"), *in_cohort("b", "4")):
            assert (await hub.admin.post("/v1/apply", json=each)).status_code == 200
        job = a_job("one", namespace="team-a", queue="a")
        uid = (await hub.admin.post("/v1/jobs", json=job)).json()["uid"]
        await bound(hub, "p", "submitter", users=["p"], namespaces=["team-a"], queues=queues)
        client = await a_user(hub, "p")
        mine = a_job("one", namespace="team-a", queue="b")
        (planned,) = (await client.post("/v1/plan", json=mine)).json()["jobs"]
    assert planned["reason"] == "AlreadyExists"
    assert (uid in planned["message"]) is tells_uid
    assert tells_uid or planned["message"].startswith("the name team-a/one is taken")
