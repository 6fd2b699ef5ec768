"""The change feed as somebody sees it whose roles are bound to part of the fleet."""

from pathlib import Path

import pytest

from hub.domain.access import Area, Scope
from hub.services.context.hub import HubWithin
from hub.services.questions import watch
from tests.services.hubs import a_job, running

pytestmark = pytest.mark.anyio


async def test_who_sees_nothing_of_a_page_gets_on_all_the_same(tmp_path: Path) -> None:
    """The revision that a page reaches is the feed's, however little of the page is told."""
    async with running(tmp_path) as hub:
        theirs = [(await hub.apply(a_job(f"theirs{n}", "team-b")))[0] for n in range(3)]
        mine = await hub.apply(a_job("mine", "team-a"))
        here = (Area(frozenset({"team-a"})),)
        me = HubWithin(hub.hub, Scope(here, here))
        reached, keys, more = 0, set(), True
        for _ in range(100):
            page = await me.read(watch.changes, reached, 3)
            assert page.revision > reached or not page.more
            keys |= {key for each in page.changes for key in each["keys"]}
            reached, more = page.revision, page.more
            if not more:
                break
        assert not more
        assert keys >= set(mine)
        assert keys.isdisjoint(theirs)
        assert (await me.read(watch.changes, reached, 3)).revision == reached
