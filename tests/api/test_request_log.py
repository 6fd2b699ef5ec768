"""The hub's log of what people have it do: a line for each request that may change something."""

import pytest
from structlog.testing import capture_logs

from hub.api.request_log import MOST
from tests.api.serving import a_job, served

pytestmark = pytest.mark.anyio


def lines(told):
    return [each for each in told if each["event"] == "request"]


async def test_a_submission_names_who_and_what(tmp_path):
    """By the id of its answer, and the uid of the job it made."""
    async with served(tmp_path) as hub:
        with capture_logs() as told:
            reply = await hub.admin.post("/v1/jobs", json=a_job("one"))
            await hub.admin.get("/v1/jobs")
        (line,) = lines(told)
        assert line.pop("took_s") >= 0
        assert line == {
            "event": "request",
            "log_level": "info",
            "request_id": reply.headers["x-request-id"],
            "method": "POST",
            "path": "/v1/jobs",
            "status": 201,
            "by": "the-administrator",
            "about": reply.json()["uid"],
        }


async def test_a_refusal_names_its_code(tmp_path):
    """Also of one that was never let in, and of a path that holds what would break a line."""
    async with served(tmp_path) as hub:
        with capture_logs() as told:
            await hub.admin.post("/v1/jobs", json={"kind": "Job"})
            await hub.nobody.post("/v1/jobs/a%0Ab/cancel")
        bad, unknown = lines(told)
        assert (bad["status"], "code" in bad, bad["by"]) == (422, True, "the-administrator")
        assert (unknown["code"], unknown["path"]) == ("Unauthenticated", "/v1/jobs/a%0Ab/cancel")
        assert "by" not in unknown


async def test_a_burst_is_told_in_part_and_how_much_was_left_out(tmp_path):
    """A log that took every line of a burst would take the burst's time."""
    async with served(tmp_path) as hub:
        with capture_logs() as told:
            for _ in range(MOST + 3):
                await hub.admin.post("/v1/jobs/x/cancel")
            hub.clock.advance(1)
            await hub.admin.post("/v1/jobs/x/cancel")
        assert len(lines(told)) == MOST + 1
        assert lines(told)[-1]["left_out"] == 3
