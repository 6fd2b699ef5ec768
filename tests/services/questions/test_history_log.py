"""The log of what was decided: each event of the history, by the hub that leads."""

import pytest
from structlog.testing import capture_logs

from hub.controllers.history_log import HistoryLog
from hub.controllers.lease import NOT_LEADING
from tests.api.serving import a_job, served

pytestmark = pytest.mark.anyio


async def test_what_became_of_a_job_is_told(tmp_path):
    """With whose it is and its uid, so that one job can be followed through the log."""
    async with served(tmp_path) as hub:
        history = HistoryLog(hub.hub, lambda: 1)
        await history.tick()
        uid = (await hub.admin.post("/v1/jobs", json=a_job("one"))).json()["uid"]
        await hub.admin.post(f"/v1/jobs/{uid}/cancel")
        with capture_logs() as told:
            await history.tick()
            await history.tick()
        (line,) = [each for each in told if each.get("uid") == uid]
        assert (line["kind"], line["name"], line["log_level"]) == ("Job", "one", "info")


async def test_a_hub_that_does_not_lead_tells_nothing(tmp_path):
    """Nor, when it begins to lead, what another one has told."""
    term = NOT_LEADING
    async with served(tmp_path) as hub:
        history = HistoryLog(hub.hub, lambda: term)
        await history.tick()
        uid = (await hub.admin.post("/v1/jobs", json=a_job("one"))).json()["uid"]
        await hub.admin.post(f"/v1/jobs/{uid}/cancel")
        with capture_logs() as told:
            await history.tick()
            term = 1
            await history.tick()
        assert [each for each in told if each.get("kind") == "Job"] == []
