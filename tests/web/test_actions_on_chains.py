"""Actions on jobs that wait for others: what is shown before, and what comes of it."""

import pytest

from tests.api.serving import a_job
from tests.web.acting import look
from tests.web.pages import served_page

pytestmark = pytest.mark.anyio


async def test_a_copy_waits_for_whom_the_first_one_still_waits_for(tmp_path):
    """Who has ended is of the past, on the page as on the command line."""
    async with served_page(tmp_path) as hub, hub.signed_in() as http:
        ended, _ = await hub.submit("ended", "open")
        await hub.api.post(f"/v1/jobs/{ended}/cancel")
        first = a_job("train")
        first["metadata"]["annotations"] = {"roadstead.dev/after": "ended:any, open"}
        (made,) = (await hub.api.post("/v1/jobs:batch", json=[first])).json()["items"]
        shown = await look(http, f"jobs/{made['uid']}/resubmit")
        assert "roadstead.dev/after: open:ok" in shown.words
        assert "ended:any" not in shown.words


async def test_what_a_release_does_to_whom_waits_for_others_is_said(tmp_path):
    """Held by somebody besides it waits for them again; held for them alone it goes regardless."""
    async with served_page(tmp_path) as hub, hub.signed_in() as http:
        await hub.submit("first")
        job = a_job("train")
        job["metadata"]["annotations"] = {"roadstead.dev/after": "first"}
        (made,) = (await hub.api.post("/v1/jobs:batch", json=[job])).json()["items"]
        goes = await look(http, f"jobs/{made['uid']}/release")
        assert "It does not wait for first." in goes.words
        await hub.api.post(f"/v1/jobs/{made['uid']}/hold")
        stays = await look(http, f"jobs/{made['uid']}/release")
        assert "waits for first" in stays.words
        assert (await stays.press(http)).json()["reason"] == "WaitsForJobs"
