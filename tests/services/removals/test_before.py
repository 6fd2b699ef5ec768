"""Lists before a removal, over a store: of a drain, of a plan and of a deletion."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from hub.domain.workloads.origin import Origin
from hub.services.context.settings import Settings
from hub.services.explain.plan import plan
from hub.services.objects.delete import delete_object
from hub.services.objects.drain import drain_cluster
from hub.services.objects.evict_placement import evict_placement
from hub.services.reading.draft import draft
from hub.store import workloads
from shared.kinds import parse
from tests.services.members.hubs import Running, running_hub
from tests.services.placements.fleet import CONFIG, FLEET, JOBS, Fleet

pytestmark = pytest.mark.anyio
RUNS_ONE = JOBS + "  policy: {placementType: PickN, numberOfClusters: 1}\n"
IN_M2 = CONFIG + "  policy: {placementType: PickFixed, clusterNames: [m2]}\n"


async def placed(hub: Running, text: str = IN_M2, *, created: bool = True) -> Fleet:
    """The placement of ConfigMap `settings` is applied in m2."""
    fleet = await Fleet.start(hub, "m1", "m2")
    await fleet.apply(text)
    for _ in range(2):
        await fleet.sync(created=created)
    return fleet


def fates(members: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [(m["cluster"], each["name"], each["fate"]) for m in members for each in m["objects"]]


async def planned(hub: Running, text: str) -> list[dict[str, Any]]:
    """What members lose by these documents."""
    drafts = [
        draft(parse(each), hub.clock.now(), origin=Origin.REST)
        for each in yaml.safe_load_all(text)
        if each
    ]
    (placement,) = (await plan(hub.hub, drafts, lambda: None))["placements"]
    members: list[dict[str, Any]] = placement["members"]
    return members


async def test_a_plan_lists_what_the_cluster_that_a_placement_leaves_loses(tmp_path: Path):
    """A placement that moves from m2 to m1; applied as it is, nothing is lost."""
    async with running_hub(tmp_path) as hub:
        await placed(hub)
        assert await planned(hub, IN_M2) == []
        moved = await planned(hub, IN_M2.replace("[m2]", "[m1]"))
        assert fates(moved) == [("m2", "settings", "Deleted")]


async def test_a_plan_lists_what_a_placement_no_longer_selects(tmp_path: Path):
    """The object that it selected is taken back where it is."""
    async with running_hub(tmp_path) as hub:
        await placed(hub, created=False)
        other = await planned(hub, IN_M2.replace("{tier: web}}}", "{tier: none}}}"))
        assert fates(other) == [("m2", "settings", "Released")]


async def a_placed_job(hub: Running) -> tuple[Fleet, str]:
    """Job `one`, which its placement placed in m2, by its uid."""
    fleet = await Fleet.start(hub, "m1", "m2")
    await fleet.apply(RUNS_ONE)
    found = await hub.hub.read(workloads.live_by_name, [("shop", "one")])
    uid = found["shop", "one"].uid
    await hub.place(uid, "m2", scores={"profile": "placement", "clusters": []})
    await fleet.sync()
    return fleet, uid


WITHDRAWN = [("m2", "one", "Withdrawn")]
ONE, ALL = "PickN, numberOfClusters: 1", "PickAll"


@pytest.mark.parametrize(
    ("selector", "policy", "lost"),
    [
        ("kind: Job, name: one", ONE, []),
        ("kind: Job, name: other", ONE, WITHDRAWN),
        ("kind: Job", ALL, WITHDRAWN),
        ("kind: Job, name: one", ALL, []),
    ],
    ids=["as it is", "no longer selected", "several clusters", "refused as it is written"],
)
async def test_a_plan_lists_the_jobs_that_a_placement_gives_up(
    tmp_path: Path, selector: str, policy: str, lost: list[tuple[str, str, str]]
):
    """The plan and the controller agree: the listed Job is withdrawn once the placement is applied."""
    async with running_hub(tmp_path) as hub:
        fleet, uid = await a_placed_job(hub)
        changed = RUNS_ONE.replace("kind: Job, name: one", selector).replace(ONE, policy)
        (placement,) = [
            each for each in yaml.safe_load_all(changed) if each["kind"] == "ResourcePlacement"
        ]
        assert fates(await planned(hub, yaml.safe_dump(placement))) == lost
        await fleet.apply(yaml.safe_dump(placement))
        assert ((await hub.job(uid)).state == "Withdrawing") is bool(lost)


async def test_an_eviction_lists_objects_and_jobs(tmp_path: Path):
    """Those of the evicted cluster alone; an eviction that may not be lists what stays as well."""
    async with running_hub(tmp_path) as hub:
        await placed(hub, CONFIG)
        asked = ("shop", "everywhere", "m2", Settings(), "ann")
        told = await hub.write(lambda tx: evict_placement(tx, *asked, carry_out=False))
        assert fates(told["members"]) == [("m2", "settings", "Deleted")]


async def test_an_eviction_lists_the_jobs_of_its_placement(tmp_path: Path):
    """A Job that the placement placed there is withdrawn."""
    async with running_hub(tmp_path) as hub:
        await a_placed_job(hub)
        asked = ("shop", "jobs", "m2", Settings(), "ann")
        told = await hub.write(lambda tx: evict_placement(tx, *asked, carry_out=False))
        assert fates(told["members"]) == [("m2", "one", "Withdrawn")]


async def test_a_drain_lists_jobs_and_objects(tmp_path: Path):
    """Jobs are withdrawn, created objects deleted."""
    async with running_hub(tmp_path) as hub:
        await placed(hub, CONFIG + "  policy: {placementType: PickN, numberOfClusters: 1}\n")
        job = await hub.submit("runs")
        await hub.place(job, "m2")
        told = await hub.write(lambda tx: drain_cluster(tx, "m2", "ann", carry_out=False))
        assert fates(told["members"]) == [
            ("m2", "runs", "Withdrawn"),
            ("m2", "settings", "Deleted"),
        ]


async def test_a_dry_run_deletes_nothing(tmp_path: Path):
    """The answer lists the placement's objects; the placement stays."""
    async with running_hub(tmp_path) as hub:
        fleet = await placed(hub)
        row = await fleet.object("ResourcePlacement", "everywhere", "shop")
        assert row is not None
        told = await hub.hub.read(
            delete_object, FLEET, row.kind, row.namespace, row.name,
            origin=Origin.REST, principal="ann", dry_run=True,
        )  # fmt: skip
        assert told["result"] == "wouldDelete"
        assert fates(told["members"]) == [("m2", "settings", "Deleted")]
        after = await fleet.object("ResourcePlacement", row.name, "shop")
        assert after is not None
        assert after.deleted_at is None
