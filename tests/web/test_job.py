"""The page of one job: why it waits, what would change it, and when it is expected to start."""

import pytest

from hub.services.context import leadership
from hub.services.scheduling.turn import Scheduler
from tests.web.pages import ServedPage, served_page

pytestmark = pytest.mark.anyio
HOSTILE = "<script>alert(1)</script>"


async def scheduled(look: ServedPage) -> None:
    """A scheduler that has looked at everything once, with its index beside the page."""
    term = await look.hub.write(leadership.seize, "test")
    scheduler = Scheduler(look.hub, lambda: term)
    await scheduler.load()
    await scheduler.turn()
    look.api._transport.app.state.schedule_index = lambda: scheduler.index  # type: ignore[attr-defined]  # ASGI


async def test_a_waiting_job_has_a_page_that_says_what_would_change_it(tmp_path):
    """Linked from its row; the sentences are those of REST."""
    async with served_page(tmp_path) as look:
        (uid,) = await look.submit("wide")
        await scheduled(look)
        assert f"/jobs/{uid}" in (await look.see()).values("href")
        told = (await look.api.get(f"/v1/jobs/{uid}/explain")).json()
        page = (await look.see(f"/jobs/{uid}")).words
        assert "Expected start" in page
        assert told["forecast"]["message"] in page
        assert all(remedy["message"] in page for remedy in told["remedies"])


async def test_without_scheduler_it_says_what_the_store_knows(tmp_path):
    """A hub that does not schedule shows the row's own reason."""
    async with served_page(tmp_path) as look:
        (uid,) = await look.submit("plain")
        await look.alter("workloads", f"uid = '{uid}'", reason="Somehow", message=HOSTILE)
        page = await look.see(f"/jobs/{uid}")
        assert f"Somehow : {HOSTILE}" in page.words


async def test_every_job_has_a_page_that_says_what_happened(tmp_path):
    """Linked from its row, however it stands."""
    async with served_page(tmp_path) as look:
        (uid,) = await look.submit("done")
        await look.finish(uid)
        await look.hub.write(_say, uid)
        assert f"/jobs/{uid}" in (await look.see()).values("href")
        page = await look.see(f"/jobs/{uid}")
        assert f"Told {HOSTILE}" in page.words


def _say(tx, uid):
    tx.event(uid=uid, kind="Job", namespace="n", name="j", reason="Told", message=HOSTILE)


async def test_a_job_that_is_not_there_is_told_on_a_page(tmp_path):
    """With the way back, for it is people who come by such an address."""
    async with served_page(tmp_path) as look, look.signed_in() as http:
        reply = await http.get("/jobs/nope")
        assert (reply.status_code, reply.headers["content-type"]) == (
            404,
            "text/html; charset=utf-8",
        )
        assert "There is no job nope" in reply.text


async def test_it_is_shown_to_those_who_are_signed_in(tmp_path):
    """Anybody else gets the way in, and learns nothing of the job."""
    async with served_page(tmp_path) as look:
        (uid,) = await look.submit("secret")
        async with look.browser() as http:
            reply = await http.get(f"/jobs/{uid}")
        assert "secret" not in reply.text
        assert "token" in reply.text
