"""A complete report settles what a member owes since the store was restored, if it is the newest."""

from pathlib import Path

import pytest

from hub.services.questions import overview
from hub.services.works import accounted, restored
from hub.services.works.accounted import Accounting, Accounts
from hub.services.works.restored import begin_recovery
from hub.store import clusters, settings
from hub.store.leftovers import Leftover
from tests.services.members.hubs import running_hub

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("session", "behind", "incarnation", "settles"),
    [
        ("", 0, "", True),
        ("", 1, "", False),
        ("superseded", 0, "", False),
        ("", 0, "earlier", False),
    ],
)
async def test_only_the_newest_request_of_the_present_session_settles(
    tmp_path: Path, session: str, behind: int, incarnation: str, settles: bool
):
    """It is the member's newest stored request, of its session, in the store's incarnation."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        await agent.sync()
        await hub.write(begin_recovery, "yesterday", "ada", ())
        member = await hub.hub.read(lambda tx: clusters.get(tx, "north"))
        own = await hub.hub.read(lambda tx: settings.get(tx, "incarnation"))
        assert member is not None
        said, seq = session or member.session, member.session_seq - behind
        told = await hub.write(accounted.settle, "north", said, seq, [], incarnation or own)
        assert told is settles


async def test_a_member_that_has_not_reported_since_the_restore_owes_that(tmp_path: Path):
    """It blocks the removal of the member, though no earlier Job is known there."""
    async with running_hub(tmp_path) as hub:
        await hub.join("north")
        await hub.write(begin_recovery, "yesterday", "ada", ())
        owed = await hub.hub.read(lambda tx: accounted.owed_by_member(tx, "north"))
        assert "has not reported" in owed


def test_one_of_several_earlier_jobs_that_went_is_news():
    """The others are still reported: the transaction that drops the one is not skipped."""
    accounts = Accounts()
    left = [Leftover("a", "north", 1), Leftover("b", "north", 1)]
    accounts.take(Accounting("2026-01-01T00:00:00+00:00", {"north": "uid"}, {}, left))
    assert accounts.is_news("north", "uid", "s", {"a"})
    assert not accounts.is_news("north", "uid", "s", {"a", "b"})


async def test_a_member_that_joined_after_the_restore_owes_a_report_and_is_named(tmp_path: Path):
    """The answer about the restore names it also once the restore was accepted: its removal is refused."""
    async with running_hub(tmp_path) as hub:
        await hub.write(begin_recovery, "yesterday", "ada", ())
        await hub.write(restored.accept, "ada")
        await hub.join("north")
        told = await hub.hub.read(overview.restored)
        assert (told["stopped"], told["awaited"], told["owing"]) == ("", [], ["north"])
        await hub.write(accounted.fence, "north")
        await hub.write(lambda tx: clusters.change(tx, "north", joined_at=None))
        assert (await hub.hub.read(overview.restored))["owing"] == []
