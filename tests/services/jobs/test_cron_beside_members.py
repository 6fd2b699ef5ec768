"""A CronJob gets a queue only while no member may still have one of its name: members run those."""

import re
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest

from hub.services.leftovers import left_objects
from hub.services.objects.delete import delete_object
from hub.services.objects.fence import fence_cluster
from hub.services.removals.decide import Chosen, decide
from shared.wire.agent_v1 import Observed
from shared.wire.versions import NEWEST
from tests import waiting
from tests.services.hubs import a_queue
from tests.services.jobs.cron_jobs import a_cron_job
from tests.services.jobs.left_cron_jobs import (
    CRON_JOBS_UNREAD,
    LEFT,
    PLACEMENT,
    a_left_cron_job,
    deleted,
    given_queue,
    placed,
    refusal,
)
from tests.services.members.hubs import Running, running_hub, seen
from tests.services.placements.fleet import FLEET, Fleet

pytestmark = pytest.mark.anyio


async def test_a_deleted_one_that_a_member_may_still_have_keeps_its_name(tmp_path: Path):
    """From the deletion until the member's agent has reported that it is gone, however long that takes."""
    async with running_hub(tmp_path) as hub:
        fleet = await placed(hub)
        await deleted(hub, "batch", "CronJob", "nightly")
        assert "which they run (m1)" in refusal(await given_queue(hub))
        await fleet.turn()
        hub.clock.advance(30 * 24 * 3600)
        assert "which they run (m1)" in refusal(await given_queue(hub))
        assert (await given_queue(hub, "other")).error is None
        await fleet.sync()
        assert (await given_queue(hub)).error is None


async def test_the_end_of_its_placement_does_not_free_the_name(tmp_path: Path):
    """The CronJob itself is deleted as well, and the removal waits for the member."""
    async with running_hub(tmp_path) as hub:
        fleet = await placed(hub)
        await deleted(hub, FLEET, "ResourcePlacement", "everywhere")
        await fleet.turn()
        await deleted(hub, "batch", "CronJob", "nightly")
        assert "which they run (m1)" in refusal(await given_queue(hub))


async def test_a_left_cron_job_keeps_its_name(tmp_path: Path):
    """A member reports one of which the store knows nothing."""
    async with running_hub(tmp_path) as hub:
        await Fleet.start(hub)
        agent = await hub.join("m1")
        left = {"api_version": "batch/v1", "kind": "CronJob", "namespace": "team-a"}
        told = {**left, "name": "nightly", "created": True}
        await agent.sync(seen("o-1", "Applied", 0, object_uid="m-1", reason="Orphan", left=told))
        assert "which they run (m1)" in refusal(await given_queue(hub))
        assert (await given_queue(hub, "other")).error is None


async def test_one_that_had_a_queue_is_placed_once_it_is_deleted(tmp_path: Path):
    """While the hub runs it, a placement selects nothing, and it does not lose its queue."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        queue = "\n---\n".join(orjson.dumps(each).decode() for each in a_queue("q"))
        await fleet.apply(f"{queue}\n---\n{PLACEMENT}")
        assert (await given_queue(hub)).error is None
        await fleet.turn()
        await fleet.sync()
        assert fleet.held("m1") == []
        await deleted(hub, "batch", "CronJob", "nightly")
        await fleet.apply(orjson.dumps(a_cron_job(queue="")).decode())
        await fleet.sync()
        assert fleet.held("m1") == ["CronJob/nightly"]


MEMBER = """
apiVersion: cluster.kubernetes-fleet.io/v1
kind: MemberCluster
metadata: {name: m1}
"""


async def silent(hub: Running) -> None:
    """An hour without a word of the member; the hub tidies up meanwhile."""
    hub.clock.advance(3600)
    await hub.write(left_objects.trim)


async def until_taken(hub: Running, agent: Any, *entries: Observed, **said: Any) -> None:
    """The agent reports until the CronJob is taken."""
    for _ in range(15):
        await agent.sync(*entries, **said)
        if (await given_queue(hub)).error is None:
            return
        await waiting.span(0.02, why="for the process to follow the store")
    raise AssertionError("it is not taken")


async def test_what_a_silent_member_has_left_keeps_its_name(tmp_path: Path):
    """Until a session that has read all CronJobs reports all that it sees, and none of that uid."""
    async with running_hub(tmp_path) as hub:
        await Fleet.start(hub)
        agent = await hub.join("m1")
        await agent.sync(a_left_cron_job())
        await silent(hub)
        assert "which they run (m1)" in refusal(await given_queue(hub))
        agent.restart("session-m1-2")
        for unread in (None, CRON_JOBS_UNREAD):
            await agent.sync(kinds_unread=unread)
            await hub.settled()
            assert "which they run (m1)" in refusal(await given_queue(hub)), unread
        await until_taken(hub, agent, kinds_unread=[])


async def test_one_that_is_still_there_keeps_its_name_though_all_are_read(tmp_path: Path):
    """The report has it: nothing is proven."""
    async with running_hub(tmp_path) as hub:
        await Fleet.start(hub)
        agent = await hub.join("m1")
        await agent.sync(a_left_cron_job(), kinds_unread=[])
        await silent(hub)
        await agent.sync(kinds_unread=[])
        assert "which they run (m1)" in refusal(await given_queue(hub))


def too_many(kind: str, most: int) -> list[Observed]:
    """Left objects of team-a, one more than is kept of that kind."""
    api_version = "batch/v1" if kind == "CronJob" else "v1"
    left = {**LEFT, "api_version": api_version, "kind": kind}
    return [
        seen(
            f"{kind}-{n}",
            "Applied",
            0,
            object_uid=f"m-{kind}-{n}",
            reason="Orphan",
            left={**left, "name": f"c-{n}"},
        )
        for n in range(most + 1)
    ]


CRON_JOBS = too_many("CronJob", left_objects.MOST_CRON_JOBS)
CONFIG_MAPS = too_many("ConfigMap", left_objects.MOST)


async def test_other_left_objects_keep_no_name(tmp_path: Path):
    """However many a member reports, and though jobs of the namespace run there."""
    async with running_hub(tmp_path) as hub:
        await Fleet.start(hub)
        agent = await hub.join("m1")
        await hub.placed("m1")
        await agent.sync(*CONFIG_MAPS)
        assert (await given_queue(hub)).error is None


async def test_other_left_objects_take_no_place_of_a_cron_job(tmp_path: Path):
    """The CronJob that is reported after more of them than are kept keeps its name."""
    async with running_hub(tmp_path) as hub:
        await Fleet.start(hub)
        agent = await hub.join("m1")
        await agent.sync(*CONFIG_MAPS, a_left_cron_job())
        assert "which they run (m1)" in refusal(await given_queue(hub))


async def test_a_member_that_reported_more_than_is_kept_keeps_every_name(tmp_path: Path):
    """Of namespaces that use it; its next complete report, whose CronJobs the hub can list, ends that."""
    async with running_hub(tmp_path) as hub:
        await Fleet.start(hub)
        agent = await hub.join("m1")
        await hub.placed("m1")
        await agent.sync(*CRON_JOBS)
        await silent(hub)
        told = refusal(await given_queue(hub))
        assert "more left CronJobs than the hub keeps (m1)" in told
        assert "`roadstead restored` lists the objects" in told
        assert named(told) == ["UID"]
        agent.restart("session-m1-2")
        await until_taken(hub, agent, *CONFIG_MAPS, kinds_unread=[])


async def test_what_is_beyond_the_bound_concerns_no_namespace_that_does_not_use_it(
    tmp_path: Path,
):
    """The hub has placed nothing of team-a there, whatever the member says."""
    async with running_hub(tmp_path) as hub:
        await Fleet.start(hub)
        agent = await hub.join("m1")
        await agent.sync(*CRON_JOBS)
        assert (await given_queue(hub)).error is None
        assert "which they run (m1)" in refusal(await given_queue(hub, "c-0"))


async def test_an_abandoned_cron_job_keeps_no_name(tmp_path: Path):
    """An administrator's decision ends it at once: the member that reported it may never say more."""
    async with running_hub(tmp_path) as hub:
        await Fleet.start(hub)
        agent = await hub.join("m1")
        agent.protocol = NEWEST
        await agent.sync(a_left_cron_job())
        await silent(hub)
        (uid,) = named(refusal(await given_queue(hub)), "abandon")
        await hub.write(partial(decide, dry_run=False), "Abandon", Chosen(uid), "ada")
        await agent.sync(a_left_cron_job())
        assert (await given_queue(hub)).error is None


def named(told: str, verb: str = "remove") -> list[str]:
    """What the commands in a refusal decide about: words after the verb, of which none is an option."""
    found = re.findall(rf"`roadstead admin {verb} ([^`]*)`", told)
    assert not [each for each in found if " " in each or each.startswith("-")]
    return found


def a_left_one(kind: str, name: str, uid: str, api_version: str = "v1") -> Observed:
    told = {**LEFT, "api_version": api_version, "kind": kind, "name": name}
    return seen(uid, "Applied", 0, object_uid=f"m-{uid}", reason="Orphan", left=told)


async def test_the_command_that_a_refusal_prints_decides_about_that_object_alone(tmp_path: Path):
    """The volume, the Secret and the other CronJob that are left in the same namespace stay."""
    async with running_hub(tmp_path) as hub:
        await Fleet.start(hub)
        agent = await hub.join("m1")
        agent.protocol = NEWEST
        others = (
            a_left_cron_job("other", "o-2"),
            a_left_one("PersistentVolumeClaim", "data", "o-3"),
            a_left_one("Secret", "keys", "o-4"),
        )
        await agent.sync(a_left_cron_job(), *others)
        (uid,) = named(refusal(await given_queue(hub)))
        told = await hub.write(partial(decide, dry_run=False), "Remove", Chosen(uid), "ada")
        assert told["count"] == 1
        left = await hub.hub.read(left_objects.list_left)
        assert {row["name"] for row in left if row["decided"]} == {"nightly"}


async def test_no_command_is_made_of_a_uid_that_a_shell_would_read(tmp_path: Path):
    """A member reports what it likes: the refusal names the list instead."""
    async with running_hub(tmp_path) as hub:
        await Fleet.start(hub)
        agent = await hub.join("m1")
        told = {**LEFT, "name": "nightly"}
        await agent.sync(seen("o-1", "Applied", 0, object_uid="$(x)", reason="Orphan", left=told))
        said = refusal(await given_queue(hub))
        assert "`roadstead restored` lists the objects" in said
        assert "$(x)" not in said


async def test_one_that_is_to_be_removed_keeps_its_name(tmp_path: Path):
    """Until its agent reports that it is gone."""
    async with running_hub(tmp_path) as hub:
        await Fleet.start(hub)
        agent = await hub.join("m1")
        agent.protocol = NEWEST
        await agent.sync(a_left_cron_job())
        chosen = Chosen(cluster="m1", namespace="team-a")
        await hub.write(partial(decide, dry_run=False), "Remove", chosen, "ada")
        await agent.sync(a_left_cron_job())
        assert "which they run (m1)" in refusal(await given_queue(hub))


async def test_a_fenced_member_keeps_no_name(tmp_path: Path):
    """Neither those that it reported, nor others of the namespaces that used it."""
    async with running_hub(tmp_path) as hub:
        await Fleet.start(hub)
        agent = await hub.join("m1")
        await hub.placed("m1")
        await agent.sync(*CRON_JOBS)
        await hub.write(fence_cluster, "m1", "m1", "ada", 45.0, though_it_answers=True)
        for name in ("nightly", "c-0"):
            assert (await given_queue(hub, name)).error is None


async def test_a_member_that_is_removed_keeps_no_name(tmp_path: Path):
    """A person removed it: the hub runs nothing there any more."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub)
        agent = await hub.join("m1")
        await fleet.apply(MEMBER)
        await agent.sync(a_left_cron_job())
        place = "cluster.kubernetes-fleet.io", "MemberCluster", "", "m1"
        await hub.write(delete_object, *place, origin="rest", principal="ada")
        assert (await given_queue(hub)).error is None
