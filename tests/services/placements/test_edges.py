"""Placements at their edges: numbers of revisions, how many are kept, what is news, how much is named."""

import datetime as dt
from pathlib import Path

import pytest
from sqlalchemy import select

from hub.services.placements.index import PlacementIndex
from hub.services.questions.rollouts import MOST_OVER, list_rollouts
from hub.store import objects
from hub.store.tables import snapshots
from shared.groups import PLACEMENT as GROUP
from tests.services.members.hubs import running_hub
from tests.services.placements.fleet import CONFIG, Fleet
from tests.store.build import START, an_object, opened

pytestmark = pytest.mark.anyio
_, MAP, PLACEMENT = CONFIG.split("---")


@pytest.mark.parametrize(
    ("limit", "changes", "kept"),
    [("", 0, [0]), ("", 9, list(range(10))), ("", 10, list(range(1, 11))), ("2", 3, [2, 3])],
)
async def test_revisions_count_from_zero_and_the_last_are_kept(
    tmp_path: Path, limit: str, changes: int, kept: list[int]
):
    """Ten unless revisionHistoryLimit says another number; what stayed the same is no new revision."""
    text = f"spec:\n  revisionHistoryLimit: {limit}" if limit else "spec:"
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        await fleet.apply(CONFIG.replace("spec:", text))
        for number in range(changes):
            await fleet.apply(MAP.replace("blue", f"c{number}"))
            await fleet.apply(MAP.replace("blue", f"c{number}"))

        def numbers(tx):
            query = select(snapshots.c.index).where(snapshots.c.part == "resources")
            return sorted(tx.conn.execute(query).scalars())

        assert await hub.hub.read(numbers) == kept
        status = await fleet.status("ResourcePlacement", "everywhere", "shop")
        assert status["observedResourceIndex"] == str(changes)


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (1, ": /data/k0"),
        (3, ": /data/k0, /data/k1, /data/k2"),
        (4, ": /data/k0, /data/k1, /data/k2 and 1 more"),
    ],
)
async def test_three_drifted_fields_are_named(tmp_path: Path, count: int, said: str):
    """Of more it is said how many; all of them stand in the status."""
    careful = "spec:\n  strategy: {applyStrategy: {whenToApply: IfNotDrifted}}"
    drift = [
        {"path": f"/data/k{n}", "hub": "a", "member": "b", "first_seen": "2026-05-01T00:00:00Z"}
        for n in range(count)
    ]
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        await fleet.apply(CONFIG.replace("spec:", careful))
        await fleet.sync(drift=drift)
        (target,) = (await fleet.status("ResourcePlacement", "everywhere", "shop"))[
            "placementStatuses"
        ]
        (failed,), (drifted,) = target["failedPlacements"], target["driftedPlacements"]
        assert failed["condition"]["message"].endswith(said)
        assert len(drifted["observedDrifts"]) == count


async def test_a_change_of_its_own_status_is_no_news_of_a_placement(tmp_path: Path):
    """What it declares, its labels, and that it is being deleted, are."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        await fleet.apply(CONFIG)
        row = await fleet.object("ResourcePlacement", "everywhere", "shop")
        assert row is not None
        index = PlacementIndex()
        assert index.put(row)
        assert not index.put(row)
        assert not index.put(row._replace(status={"conditions": []}))
        assert index.put(row._replace(generation=2))
        assert index.put(row._replace(generation=2, hash="labelled"))
        gone = row._replace(generation=2, hash="labelled", deleted_at=hub.clock.now())
        assert index.leaving == set()
        assert index.put(gone)
        assert not index.put(gone)
        assert index.leaving == {row.uid}
        assert (index.drop(row.uid), index.drop(row.uid)) == (True, False)


async def test_of_runs_that_are_over_the_newest_are_listed(tmp_path: Path):
    """A hundred; those that are not over are listed all, and come first however old they are."""
    ended = {"conditions": [{"type": "Succeeded", "status": "True", "reason": "r", "message": ""}]}
    runs = [
        an_object(
            f"run-{number:03}", api_group=GROUP, kind="StagedUpdateRun", spec={},
            status=None if number == 1 else ended, created_at=START + dt.timedelta(seconds=number),
        )
        for number in range(MOST_OVER + 2)
    ]  # fmt: skip
    async with opened(tmp_path) as db:

        def fill(tx):
            for row in runs:
                objects.add(tx, row)

        await db.write(fill)
        listed = [each["name"] for each in (await db.read(list_rollouts))["items"]]
        assert listed == ["run-001"] + [each.name for each in reversed(runs[2:])]
