"""Which jobs a view shows, and that it stays small however many there are."""

import pytest

from hub.services.questions.dashboard import JOBS_PER_PAGE
from tests.api.serving import a_job
from tests.web.pages import served_page

pytestmark = pytest.mark.anyio


async def test_a_page_of_5000_jobs_is_bounded(tmp_path):
    """It has one page of rows, the true counts, and the way to the next page."""
    async with served_page(tmp_path) as hub:
        jobs = [a_job(f"j{i:04}") for i in range(5000)]
        assert (await hub.api.post("/v1/jobs:batch", json=jobs)).status_code == 200
        page = await hub.see()
        assert len(page.jobs) == JOBS_PER_PAGE
        assert len(page.page) < 200_000
        assert "1 to 50 of 5000" in page.words
        assert page.values("href").count("/?page=2") == 1
        last = await hub.see("/?page=100")
        assert len(last.jobs) == JOBS_PER_PAGE
        assert "/?page=101" not in last.values("href")


async def test_pages_show_every_job_once(tmp_path):
    """Those that have not ended first, the oldest first; then those that have, the latest first."""
    async with served_page(tmp_path) as hub:
        uids = await hub.submit(*(f"j{i:03}" for i in range(130)))
        ended = uids[70:]
        await hub.finish(*ended)
        pages = [(await hub.see(f"/?page={number}")).jobs for number in (1, 2, 3)]
        assert [len(page) for page in pages] == [50, 50, 30]
        assert [uid for page in pages for uid in page] == sorted(uids[:70]) + ended[::-1]
        assert (await hub.see("/?page=4")).jobs == []


async def test_a_group_and_a_text_choose_jobs(tmp_path):
    """By state, by part of a name, by both."""
    async with served_page(tmp_path) as hub:
        red, blue, old = await hub.submit("red", "blue", "old-red")
        await hub.finish(old)
        assert (await hub.see("/?state=waiting")).jobs == sorted([red, blue])
        assert (await hub.see("/?state=succeeded")).jobs == [old]
        assert (await hub.see("/?q=red")).jobs == [red, old]
        assert (await hub.see("/?q=team-a/blu")).jobs == [blue]
        assert (await hub.see("/?q=red&state=waiting")).jobs == [red]
        assert (await hub.see("/?q=%25")).jobs == []


@pytest.mark.parametrize(
    "query", ["page=0", "page=-1", "page=x", "page=1e9", "state=odd", "odd=1"]
)
async def test_what_makes_no_sense_is_left_out(tmp_path, query):
    """The plain page is shown."""
    async with served_page(tmp_path) as hub:
        uids = await hub.submit("one")
        assert (await hub.see(f"/?{query}")).jobs == uids


async def test_a_view_without_jobs_leads_back(tmp_path):
    """A search without result is not an empty hub."""
    async with served_page(tmp_path) as hub:
        await hub.submit("one")
        words = (await hub.see("/?q=nothing")).words
        assert "No job is shown by this. Show all jobs" in words
        assert "roadstead submit" not in words


async def test_the_stream_follows_the_view(tmp_path):
    """What is searched for, and the page, are asked of the stream too."""
    async with served_page(tmp_path) as hub:
        page = await hub.see("/?q=a%26b&page=3&state=running")
        assert page.values("data-stream") == ["/live?state=running&q=a%26b&page=3"]


async def test_counts_of_the_fleet_are_not_shown_over_a_part_of_it(tmp_path):
    """Narrowed to one owner, a group of states has no number: what is counted is the whole fleet."""
    async with served_page(tmp_path) as hub:
        await hub.submit("one", "two")
        assert "2 Waiting" in (await hub.see()).words
        narrowed = (await hub.see("/?owner=nobody-here")).words
        assert "2 Waiting" not in narrowed
        assert "Waiting" in narrowed
