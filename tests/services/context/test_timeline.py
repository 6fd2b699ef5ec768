"""A hub whose store went back to an older copy finds out from its agents, and dispatches nothing."""

import datetime as dt
import shutil
from pathlib import Path
from typing import Any

import pytest

from hub.services.context import identity, timeline
from hub.services.context.incarnations import began_ms, new_incarnation
from hub.services.questions.clusters import get_cluster, list_clusters
from hub.services.questions.overview import overview, restored
from hub.services.works.restored import accept
from hub.store import events
from hub.store.transaction import Transaction
from shared.errors import Rejected
from shared.wire.agent_v1 import Mark
from tests.services.members.hubs import Agent, running_hub, seen

pytestmark = pytest.mark.anyio


def copied(folder: Path, name: str) -> Path:
    """A backup of a hub's files, taken while it does not run."""
    return Path(shutil.copytree(folder, folder.parent / name))


async def a_past(tmp_path: Path) -> tuple[Path, Agent, list[dict[str, Any]]]:
    """A hub that was backed up and went on: the backup, an agent, and the marks that it holds."""
    folder = tmp_path / "hub"
    folder.mkdir()
    async with running_hub(folder) as hub:
        agent = await hub.join("north")
        await agent.sync()
    backup = copied(folder, "backup")
    async with running_hub(folder) as hub:
        agent.running = hub
        await hub.placed("north")
        await agent.sync()
        return backup, agent, list(agent.marks)


def connected(
    agent: Agent, hub, marks: list[dict[str, Any]], session: str = "session-north-9"
) -> Agent:
    """The same agent, started anew beside another state of the hub."""
    agent.running = hub
    agent.restart(session)
    agent.marks = marks
    return agent


@pytest.mark.parametrize(("revision", "went_back"), [(9, False), (10, False), (11, True)])
def test_of_runs_that_are_forgotten_only_later_marks_prove_anything(
    revision: int, went_back: bool
):
    """A run that is no longer listed had ended when the oldest that is began."""
    forgotten = timeline.StoreTimeline("inc", b"key", [("forgotten", 0)])
    known = timeline.StoreTimeline("inc", b"key", [("oldest", 10), ("now", 20)], truncated=True)
    assert known.contradicts(forgotten.mark(revision), 30) is went_back


@pytest.mark.parametrize(("revision", "went_back"), [(19, False), (20, False), (21, True)])
def test_a_run_gave_out_nothing_beyond_its_end(revision: int, went_back: bool):
    """Though the store has come further since: what it did after it was restored is something else."""
    longer = timeline.StoreTimeline("inc", b"key", [("first", 0)])
    restored = timeline.StoreTimeline("inc", b"key", [("first", 0), ("now", 20)])
    assert restored.contradicts(longer.mark(revision), 30) is went_back


async def test_hubs_that_start_at_once_know_of_each_other(tmp_path: Path):
    """One that began as this one came up believes what this one tells agents from then on."""
    others = []

    def begin(tx: Transaction) -> None:
        known = identity.load(tx)
        others.append(timeline.begin(tx, known.incarnation, known.page_key))

    async with running_hub(tmp_path, meanwhile=lambda hub: hub.write(begin)) as hub:
        agent = await hub.join("north")
        await agent.sync()
        (other,) = others
        assert agent.marks
        revision = hub.hub.db.revision
        assert other.first_contradiction([Mark(**each) for each in agent.marks], revision) is None


async def test_a_restart_is_no_rollback(tmp_path: Path):
    """A hub that comes up with all that it had told goes on."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        await hub.placed("north")
        await agent.sync()
        marks = list(agent.marks)
    async with running_hub(tmp_path) as hub:
        connected(agent, hub, marks)
        await agent.sync()
        assert len(agent.works) == 1


async def test_a_restored_backup_is_found_out_and_stops(tmp_path: Path):
    """An agent's mark is of a run that the store does not know: nothing is dispatched, and that is said."""
    backup, agent, marks = await a_past(tmp_path)
    async with running_hub(backup) as hub:
        other = await hub.join("south")
        await hub.placed("south")
        connected(agent, hub, marks)
        refused = await agent.post(agent.request())
        assert (refused.status_code, refused.json()["code"]) == (409, "HubRolledBack")
        await other.sync()
        assert other.works == {}
        told = await hub.hub.read(overview, hub.hub.settings)
        assert [each["type"] for each in told["conditions"]] == ["HubRolledBack"]


async def test_a_backup_that_has_caught_up_in_numbers_is_found_out_too(tmp_path: Path):
    """Revisions count alike in both histories: the run tells them apart."""
    backup, agent, marks = await a_past(tmp_path)
    async with running_hub(backup) as hub:
        await hub.place_many("south", 5)
        for index in range(50):
            await hub.submit(f"more-{index}")
        connected(agent, hub, marks)
        assert (await agent.post(agent.request())).status_code == 409


async def test_a_backup_of_the_running_hub_is_found_out(tmp_path: Path):
    """A copy knows the run; that the run had come further is what gives it away."""
    folder = tmp_path / "hub"
    folder.mkdir()
    async with running_hub(folder) as hub:
        agent = await hub.join("north")
        await agent.sync()
        early = list(agent.marks)
        backup = copied(folder, "backup")
        await hub.placed("north")
        await agent.sync()
        late = list(agent.marks)
    async with running_hub(backup) as hub:
        connected(agent, hub, early)
        assert (await agent.post(agent.request())).status_code == 200
        connected(agent, hub, late, "session-north-8")
        assert (await agent.post(agent.request())).status_code == 409


async def test_a_mark_that_the_hub_did_not_make_says_nothing(tmp_path: Path):
    """No agent can stop the hub by a claim."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        agent.marks = [{"run": "another", "revision": 10**9, "proof": "0" * 32}]
        assert (await agent.post(agent.request())).status_code == 200


async def test_a_stopped_hub_removes_nothing_and_takes_results_in(tmp_path: Path):
    """What it does not know may be what it has forgotten; what it knows is reported as ever."""
    backup, agent, marks = await a_past(tmp_path)
    async with running_hub(backup) as hub:
        other = await hub.join("south")
        uid = await hub.placed("south")
        await other.sync()
        connected(agent, hub, marks)
        await agent.post(agent.request())
        stray = seen(
            "nobody", "Applied", object_uid="m-1", job={}, incarnation=hub.sync.incarnation
        )
        done = seen(uid, "Applied", job={"result": "Succeeded"})
        reply = await other.sync(stray, done)
        assert reply["orders"] == []
        assert (await hub.job(uid)).state == "Succeeded"


async def test_an_administrator_accepts_and_it_goes_on_under_a_new_incarnation(tmp_path: Path):
    """Marks of before count no more; what members hold from before is quarantined, not removed."""
    backup, agent, marks = await a_past(tmp_path)
    async with running_hub(backup) as hub:
        connected(agent, hub, marks)
        before = hub.sync.incarnation
        await agent.post(agent.request())
        accepted = await hub.write(accept, "ada")
        await hub.submit("wakes-the-feed")
        while hub.sync.incarnation == before:
            await hub.settled()
        assert hub.sync.incarnation == accepted
        stray = seen("nobody", "Applied", object_uid="m-1", job={}, incarnation=before)
        reply = await agent.sync(stray)
        assert [each["action"] for each in reply["orders"]] == ["Quarantine"]


async def accepted(hub, agent, marks) -> str:
    """The restored store is found out and accepted; the incarnation before it."""
    connected(agent, hub, marks)
    before = hub.sync.incarnation
    await agent.post(agent.request())
    await hub.write(accept, "ada")
    await hub.submit("wakes-the-feed")
    while hub.sync.incarnation == before:
        await hub.settled()
    return before


async def test_what_was_done_since_the_backup_is_shown(tmp_path: Path):
    """What members hold from before is told in the overview, by an event, and one by one with its state."""
    backup, agent, marks = await a_past(tmp_path)
    async with running_hub(backup) as hub:
        before = await accepted(hub, agent, marks)
        waiting = await hub.submit("waits-here")
        kept: dict[str, Any] = {"incarnation": before, "phase": "Applied"}
        for uid, job in (("lost", {"result": "Succeeded"}), (waiting, {"active": 2})):
            await agent.sync(seen(uid, object_uid=f"m-{uid}", job=job, **kept))
        told = await hub.hub.read(restored)
        assert told["stopped"] == ""
        shown = [(row["uid"], row["there"], row["job"], row["state"]) for row in told["items"]]
        assert sorted(shown) == sorted(
            [
                ("lost", "Succeeded", "", ""),
                (waiting, "Running", "team-a/waits-here", "Held"),  # its other Job is there
            ]
        )
        (condition,) = (await hub.hub.read(overview, hub.hub.settings))["conditions"]
        assert condition["type"] == "ForgottenJobs"
        assert "north 2" in condition["message"]
        said = await hub.hub.read(lambda unit: events.list_events(unit, kind="MemberCluster"))
        assert [each.reason for each in said].count("ForgottenJobs") == 2


async def test_what_no_member_reports_any_more_is_shown_no_longer(tmp_path: Path):
    """A member says all that it sees every ten minutes."""
    backup, agent, marks = await a_past(tmp_path)
    async with running_hub(backup) as hub:
        before = await accepted(hub, agent, marks)
        stray = seen("lost", "Applied", object_uid="m-1", job={}, incarnation=before)
        for _ in range(4):
            await agent.sync(stray)
            hub.clock.advance(600)
            assert len((await hub.hub.read(restored))["items"]) == 1
        hub.clock.advance(1000)
        assert (await hub.hub.read(restored))["items"] == []
        assert (await hub.hub.read(overview, hub.hub.settings))["conditions"] == []


async def test_what_the_hub_gave_itself_is_not_forgotten(tmp_path: Path):
    """A stray of this incarnation is ordered away, and listed nowhere."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        mine = hub.sync.incarnation
        await agent.sync(seen("x", "Applied", object_uid="m-1", job={}, incarnation=mine))
        await agent.sync(seen("y", "Applied", object_uid="m-2", job={}))
        assert (await hub.hub.read(restored))["items"] == []


async def test_there_is_nothing_to_accept_while_all_is_well(tmp_path: Path):
    """NotRolledBack."""
    async with running_hub(tmp_path) as hub:
        with pytest.raises(Rejected, match="nothing to accept"):
            await hub.write(accept, "ada")


async def test_a_member_shows_what_it_holds_from_before(tmp_path: Path):
    """By the words of its agent, which name the object; and the list of members counts them."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        words = "after/r2: the hub does not ask for it"
        await agent.sync(
            seen("r2", "Applied", object_uid="m-1", job={}, incarnation="inc-0", message=words)
        )
        view = await hub.hub.read(get_cluster, "north", hub.hub.settings)
        assert [each["message"] for each in view["leftoverJobs"]] == [words]
        listed = await hub.hub.read(list_clusters, hub.hub.settings)
        assert [each["leftovers"] for each in listed["items"]] == [1]


async def test_an_accepted_store_begins_later_than_the_mark_that_stopped_it(tmp_path: Path):
    """Though this machine's clock is behind: members tell by the incarnation whose orders are newer."""
    async with running_hub(tmp_path) as hub:
        later = new_incarnation(hub.clock.now() + dt.timedelta(days=1))
        mark = timeline.StoreTimeline(later, b"key", [("run", 0)]).mark(5)
        assert await hub.write(timeline.stop, "north", mark, hub.sync.incarnation, b"key")
        accepted = await hub.write(accept, "ada")
        assert began_ms(accepted) > began_ms(later)
