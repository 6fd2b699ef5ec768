"""Why the hub or its bridge stands still: what is shown, what is written down, and who lifts it."""

from typing import Any

import pytest

from hub.services.access.credentials import ADMINISTRATOR, VIEWER
from hub.services.context import hub_cluster, identity, leadership, secrecy, timeline
from hub.store import audit, events, settings
from hub.store.errors import StaleTerm
from hub.store.transaction import Transaction
from shared.clock import ManualClock
from shared.errors import Rejected
from tests.store.build import START, call, opened

pytestmark = pytest.mark.anyio
MEANING = "objects absent on the hub cluster count as deleted"


def shown(**given: Any) -> dict[str, Any]:
    """Nothing is connected."""
    empty = {"connected": False, "uid": "", "running": False, "reason": "", "message": ""}
    return (
        empty
        | {"resuming": "", "jobs": "", "jobsMessage": "", "jobsShown": "", "mirrors": ""}
        | {"recordsShown": ""}
        | given
    )


@pytest.mark.parametrize(
    ("status", "reason", "expected"),
    [
        ("", "", shown()),
        ("True", "Running", {"connected": True, "running": True}),
        ("False", "TooManyDeletions", {"connected": True, "resuming": MEANING}),
        ("False", "KueueWebhooks", {"connected": True}),
        ("False", "HubClusterSilent", {}),
        ("False", "HubClusterStarting", {"connected": True}),
        ("True", "TooManyDeletions", {"connected": True, "running": True}),
    ],
)
async def test_the_bridge_is_shown_as_it_last_said(tmp_path, status, reason, expected):
    """Its reason and words; what resuming means where it is stopped for what a person may lift."""
    async with opened(tmp_path) as db:
        if status:
            said = {"status": status, "reason": reason, "message": "m"}
            await db.write(call(hub_cluster.tell_condition, said))
            await db.write(call(hub_cluster.adopt_hub_cluster, "uid-h"))
            expected = shown(reason=reason, message="m", uid="uid-h") | expected
        assert await db.read(hub_cluster.show) == expected


@pytest.mark.parametrize(
    ("status", "stands", "asked", "code", "words"),
    [
        ("True", "Running", "Running", "BridgeNotStopped", "it is running"),
        ("False", "TooManyDeletions", "HubClusterChanged", "BridgeNotStopped", "TooManyDeletions"),
        ("", "", "TooManyDeletions", "BridgeNotStopped", "there is none"),
        (
            "False",
            "HubClusterSilent",
            "HubClusterSilent",
            "BridgeWaits",
            "ends when its cause is gone",
        ),
    ],
)
async def test_only_the_stop_that_stands_can_be_lifted(
    tmp_path, status, stands, asked, code, words
):
    """Nothing is written down of another word."""
    async with opened(tmp_path) as db:
        if status:
            said = {"status": status, "reason": stands, "message": "m"}
            await db.write(call(hub_cluster.tell_condition, said))
        with pytest.raises(Rejected) as refused:
            await db.write(call(hub_cluster.resume, asked, "ann"))
        assert (refused.value.code, refused.value.field) == (code, "reason")
        assert words in refused.value.detail
        assert not await db.read(hub_cluster.is_lifted)
        assert await db.read(audit.list_entries) == []


async def test_a_word_is_written_down_and_taken_by_the_leader_once(tmp_path):
    """Under the name of who said it."""
    async with opened(tmp_path) as db:
        said = {"status": "False", "reason": "TooManyDeletions", "message": "m"}
        await db.write(call(hub_cluster.tell_condition, said))
        told = await db.write(call(hub_cluster.resume, "TooManyDeletions", "ann"))
        assert (told["reason"], told["resuming"]) == ("TooManyDeletions", MEANING)
        (entry,) = await db.read(audit.list_entries)
        assert entry[2:6] == ("ann", "resume", "HubCluster", "lifts TooManyDeletions")
        term = await db.write(call(leadership.seize, "x"))
        take = hub_cluster.take_lift
        with pytest.raises(StaleTerm):
            await db.write(call(take, term - 1, "TooManyDeletions"))
        taken = [await db.write(call(take, term, "TooManyDeletions")) for _ in range(2)]
        assert taken == [True, False]


async def test_the_first_proof_that_the_store_went_back_is_the_one_that_is_told(tmp_path):
    """Who proved it and by what; told as an Event once, kept until a person accepts it."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        known = await db.write(identity.load)
        key = known.page_key
        mark = timeline.StoreTimeline(known.incarnation, key, [("r", 0)]).mark(7)
        first = await db.write(call(timeline.stop, "c1", mark, known.incarnation, key))
        assert "c1 (run " in first
        assert "revision 7" in first
        assert await db.write(call(timeline.stop, "c2", mark, known.incarnation, key)) == first
        assert await db.read(timeline.standing) == (known.incarnation, first, False)
        (event,) = await db.read(events.list_events)
        assert event[2:9] == ("hub", "Hub", "", "hub", "Warning", "HubRolledBack", first)
        kept = await db.read(call(settings.get, "rolled_back"))
        assert kept == {
            "at": START.isoformat(), "cluster": "c1", "message": first,
            "incarnation": known.incarnation,
        }  # fmt: skip
        begun = await db.write(call(timeline.begin, known.incarnation, known.page_key))
        assert begun.stopped == first, "over a restart too"
        later = await db.write(timeline.begin_anew)
        assert later > known.incarnation
        assert await db.read(timeline.standing) == (later, "", False)
        assert await db.write(call(timeline.stop, "c1", mark, known.incarnation, key)) == ""
        assert await db.read(timeline.standing) == (later, "", False)
        with pytest.raises(Rejected) as refused:
            await db.write(timeline.begin_anew)
        assert refused.value.code == "NotRolledBack"


async def test_environments_are_an_administrators_and_secrets_nobodys(tmp_path):
    """Equal secrets have equal marks, in this hub and after its restart, and others in another."""
    env = {"spec": {"containers": [{"env": [{"name": "A", "value": "x"}]}]}}
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "data": {"a": "eA==", "b": "eA==", "c": "eQ=="},
    }

    def looks(_tx: Transaction, first: int, *, second: int) -> dict[str, Any]:
        return env | {"given": [first, second]}

    marks = []
    for folder in ("one", "one", "two"):
        (tmp_path / folder).mkdir(exist_ok=True)
        async with opened(tmp_path / folder) as db:
            await db.write(identity.load)
            roles = {}
            for role in (ADMINISTRATOR, VIEWER):
                seen = call(secrecy.seen_by, role, looks, 1, second=2)
                roles[role] = await db.read(seen)
            assert roles[ADMINISTRATOR] == env | {"given": [1, 2]}
            assert roles[VIEWER]["given"] == [1, 2]
            assert "x" not in str(roles[VIEWER]["spec"]).replace("hidden", "")
            marks.append((await db.read(call(secrecy.redacted, secret)))["data"])
    one, again, other = marks
    assert one == again
    assert one["a"] == one["b"] != one["c"]
    assert one["a"] != other["a"]
