"""Objects in a member, no Jobs, that the hub has no work for: listed for an administrator, and left alone."""

from pathlib import Path
from typing import Any

import pytest

from hub.domain.workloads.apply_options import ApplyOptions
from hub.services.leftovers import left_objects
from hub.services.questions import overview
from hub.store import works
from shared.wire.agent_v1 import Observed
from tests.services.members.hubs import running_hub, seen

pytestmark = pytest.mark.anyio


def a_left_object(uid: str = "o-1", object_uid: str = "m-1", **which: object) -> Observed:
    """What an agent reports of a ConfigMap that it wrote and that nothing desires."""
    left = {"api_version": "v1", "kind": "ConfigMap", "namespace": "team", "name": "settings"}
    told = {**left, "created": True, **which}
    return seen(uid, "Applied", 0, object_uid=object_uid, reason="Orphan", left=told)


async def listed(hub) -> list[tuple[str, str, str, str]]:
    found = (await hub.hub.read(overview.restored))["objects"]
    return [(row["cluster"], row["kind"], row["namespace"], row["name"]) for row in found]


async def test_an_object_that_the_hub_does_not_know_is_listed_and_left(tmp_path: Path):
    """With its place, how it came to be and since when; the agent gets no order about it."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        reply = await agent.sync(a_left_object())
        assert reply["orders"] == []
        (row,) = (await hub.hub.read(overview.restored))["objects"]
        at = "2026-05-01T00:00:00Z"
        assert row == {
            "cluster": "north", "uid": "o-1", "objectUid": "m-1", "apiVersion": "v1", "kind": "ConfigMap",
            "namespace": "team", "name": "settings", "created": True, "since": at, "seenAt": at,
            "placedBy": "", "known": False, "decided": "", "message": "",
        }  # fmt: skip


async def test_an_object_that_no_agent_reports_any_more_is_not_listed(tmp_path: Path):
    """Agents report everything every ten minutes; since when it was there stays while they do."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        await agent.sync(a_left_object(), a_left_object("o-2", "m-2", name="other"))
        hub.clock.advance(1000.0)
        await agent.sync(a_left_object())
        hub.clock.advance(1000.0)
        (row,) = (await hub.hub.read(overview.restored))["objects"]
        assert (row["name"], row["since"]) == ("settings", "2026-05-01T00:00:00Z")
        hub.clock.advance(1000.0)
        await hub.write(left_objects.trim)
        assert await listed(hub) == []


async def test_an_object_that_has_a_work_again_is_not_listed(tmp_path: Path):
    """Its placement came back under the same uid."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.submit()
        await agent.sync(a_left_object(uid))
        assert len(await listed(hub)) == 1
        await hub.place(uid, "north")
        assert await listed(hub) == []


@pytest.mark.parametrize(
    ("kind", "left"),
    [({}, 0), ({"api_version": "batch/v1", "kind": "CronJob"}, 1)],
    ids=["ConfigMap", "CronJob"],
)
async def test_an_object_that_a_placement_took_back_is_listed_no_more(tmp_path: Path, kind, left):
    """Its agent said Gone of that work; a CronJob stays listed until it is proven absent."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        other = a_left_object("o-2", "m-2", name="other")
        await agent.sync(a_left_object("o-1", "m-1", **kind), other)
        work: Any = {
            "cluster": "north", "uid": "o-1", "epoch": 0, "generation": 1, "api_version": "v1",
            "kind": "ConfigMap", "namespace": "team", "name": "settings", "options": ApplyOptions(),
            "placed_by": "ResourcePlacement/team/web",
        }  # fmt: skip
        await hub.write(works.upsert, [work])
        await hub.write(works.act, "Withdraw", [("north", "o-1")])
        await agent.sync(seen("o-1", "Gone", 0))
        assert await hub.work("o-1") is None
        names = [name for _, _, _, name in await listed(hub)]
        assert sorted(names) == ["other", *["settings"] * left]


async def test_no_member_hides_what_another_holds(tmp_path: Path):
    """Of each member a bounded number is kept; of one that is fenced, nothing."""
    async with running_hub(tmp_path) as hub:
        north, south = await hub.join("north"), await hub.join("south")
        many = [
            a_left_object(f"o-{i}", f"m-{i}", name=f"c-{i}") for i in range(left_objects.MOST + 5)
        ]
        await north.sync(*many)
        await south.sync(a_left_object(name="one"))
        found = await listed(hub)
        assert len(found) == left_objects.MOST + 1
        await hub.write(left_objects.forget, "north")
        assert await listed(hub) == [("south", "ConfigMap", "team", "one")]


async def test_an_agent_of_the_release_before_reports_no_objects(tmp_path: Path):
    """Its entry has no such field: nothing is kept, and its other entries are taken."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        told = seen("o-1", "Applied", 0, object_uid="m-1", reason="Orphan")
        assert b"left" not in told.model_dump_json(exclude_defaults=True).encode()
        await agent.sync(told)
        assert await listed(hub) == []


async def test_names_that_a_broken_agent_reports_are_printable(tmp_path: Path):
    """Neither the database nor a terminal gets control characters."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        await agent.sync(a_left_object(name="a\x00b\x1b[2J"))
        assert await listed(hub) == [("north", "ConfigMap", "team", "ab[2J")]


async def test_a_full_list_keeps_what_is_reported_again(tmp_path: Path):
    """The bound applies to new objects: a report renews the listed ones and keeps their `since`."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        many = [a_left_object(f"o-{i}", f"m-{i}", name=f"c-{i}") for i in range(left_objects.MOST)]
        for _ in range(3):
            await agent.sync(*many)
            hub.clock.advance(1000.0)
        found = (await hub.hub.read(overview.restored))["objects"]
        assert len(found) == left_objects.MOST
        assert {row["since"] for row in found} == {"2026-05-01T00:00:00Z"}
