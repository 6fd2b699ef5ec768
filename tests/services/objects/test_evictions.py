"""Evictions: carried out once, as disruption budgets allow; what is taken back lets go first."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
import yaml

from hub.domain.workloads.origin import Origin
from hub.services.context.settings import Intake
from hub.services.jobs import retention
from hub.services.objects.apply import Applied, apply_documents
from hub.services.objects.evict_placement import evict_placement
from hub.services.objects.evictions import REASON
from hub.services.reading.draft import draft
from hub.store import audit, objects, workloads
from hub.store.records.workloads import WorkloadChange
from hub.store.transaction import Transaction
from shared.errors import Rejected
from shared.groups import PLACEMENT
from shared.kinds import parse
from tests.services.members.hubs import Running, running_hub, seen
from tests.services.placements.fleet import CONFIG, Fleet

pytestmark = pytest.mark.anyio
ONE = CONFIG + "  policy: {placementType: PickN, numberOfClusters: 1}\n"
TWO = ONE.replace("numberOfClusters: 1", "numberOfClusters: 2")
BUDGET = """
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ResourcePlacementDisruptionBudget
metadata: {name: everywhere, namespace: shop}
spec: {minAvailable: 1}
"""


def eviction(cluster: str, name: str = "e", placement: str = "everywhere") -> str:
    return f"""
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ResourcePlacementEviction
metadata: {{name: {name}, namespace: shop}}
spec: {{placementName: {placement}, clusterName: {cluster}}}
"""


async def placed(hub: Running, *documents: str) -> Fleet:
    fleet = await Fleet.start(hub, "m1", "m2")
    for each in documents:
        await fleet.apply(each)
    await fleet.sync()
    await fleet.sync()
    return fleet


async def told(hub: Running, name: str = "e") -> dict[str, tuple[str, str]]:
    """Conditions of an eviction: status and message."""
    row = await hub.hub.read(objects.find, PLACEMENT, "ResourcePlacementEviction", "shop", name)
    assert row is not None
    return {
        each["type"]: (each["status"], each["message"])
        for each in (row.status or {}).get("conditions", ())
    }


async def test_the_objects_leave_and_the_cluster_is_picked_again(tmp_path: Path):
    """Not before all of it is gone: so what runs there is really begun anew."""
    async with running_hub(tmp_path) as hub:
        fleet = await placed(hub, CONFIG)
        await fleet.apply(eviction("m2"))
        said = await told(hub)
        assert said["Valid"] == ("True", "Eviction is valid")
        assert said["Executed"][0] == "True"
        await fleet.turn()
        await fleet.agents["m2"].sync()
        assert (fleet.held("m1"), fleet.held("m2")) == (["ConfigMap/settings"], [])
        await fleet.sync()
        await fleet.sync()
        assert fleet.held("m2") == ["ConfigMap/settings"]
        assert (await told(hub)) == said


async def test_another_cluster_takes_its_place(tmp_path: Path):
    """Of PickN, where there is one; the budget is not asked twice for the one."""
    async with running_hub(tmp_path) as hub:
        fleet = await placed(hub, ONE)
        (first,) = [name for name in ("m1", "m2") if fleet.held(name)]
        await fleet.apply(eviction(first))
        for _ in range(3):
            await fleet.sync()
        (other,) = {"m1", "m2"} - {first}
        assert (fleet.held(other), fleet.held(first)) == (["ConfigMap/settings"], [])


async def test_two_at_once_do_not_spend_the_last_of_a_budget(tmp_path: Path):
    """In one transaction, or one after the other while the first still lets go."""
    async with running_hub(tmp_path) as hub:
        fleet = await placed(hub, TWO, BUDGET)
        await fleet.apply(eviction("m1", "first") + "---" + eviction("m2", "second"))
        await fleet.apply(eviction("m2", "third"))
        assert (await told(hub, "first"))["Executed"][0] == "True"
        for name in ("second", "third"):
            status, message = (await told(hub, name))["Executed"]
            assert status == "False"
            assert "availablePlacements: 1, totalPlacements: 2; minAvailable is 1" in message
        await fleet.apply(eviction("m1", "again"))
        assert "currently being removed" in (await told(hub, "again"))["Executed"][1]


async def test_what_has_just_failed_counts_against_the_budget(tmp_path: Path):
    """By the last report of its agent, whether the placement has been looked at since or not."""
    async with running_hub(tmp_path) as hub:
        fleet = await placed(hub, TWO, BUDGET)
        agent = fleet.agents["m2"]
        (work,) = agent.works.values()
        entry = seen(work["uid"], "Applied", 0, available=False)
        entry.generation = work["generation"]
        await agent.sync(entry)
        await fleet.apply(eviction("m1"))
        status, message = (await told(hub))["Executed"]
        assert status == "False"
        assert "availablePlacements: 1, totalPlacements: 2; minAvailable is 1" in message


async def test_it_is_carried_out_once_and_does_not_change(tmp_path: Path):
    """Applied again it does nothing; another cluster in it is refused, by field."""
    async with running_hub(tmp_path) as hub:
        fleet = await placed(hub, CONFIG)
        await fleet.apply(eviction("m2"))
        for _ in range(3):
            await fleet.sync()
        (again,) = await fleet.apply(eviction("m2"))
        assert again.result == "unchanged"
        await fleet.turn()
        assert fleet.held("m2") == ["ConfigMap/settings"]
        with pytest.raises(AssertionError, match="Immutable"):
            await fleet.apply(eviction("m1"))
        assert (await told(hub))["Valid"][0] == "True"


@pytest.mark.parametrize(
    ("document", "cluster", "placement", "words"),
    [
        (CONFIG, "m1", "nosuch", "Failed to find ResourcePlacement"),
        (CONFIG, "m9", "everywhere", "Failed to find scheduler decision"),
        (
            CONFIG + "  policy: {placementType: PickFixed, clusterNames: [m1]}\n",
            "m1", "everywhere", "PickFixed",
        ),
    ],
)  # fmt: skip
async def test_what_can_not_be_evicted_is_invalid_for_good(
    tmp_path: Path, document: str, cluster: str, placement: str, words: str
):
    """It says why, and nothing moves."""
    async with running_hub(tmp_path) as hub:
        fleet = await placed(hub, document)
        await fleet.apply(eviction(cluster, placement=placement))
        said = await told(hub)
        assert said.keys() == {"Valid"}
        assert said["Valid"][0] == "False"
        assert words in said["Valid"][1]
        await fleet.turn()
        assert fleet.held("m1") == ["ConfigMap/settings"]


async def taken(hub: Running, text: str, status: dict[str, Any] | None) -> list[Applied]:
    """As the bridge brings an object of the hub cluster, with the status that it has there."""
    document = yaml.safe_load(text)
    document["metadata"] |= {"uid": "of-the-hub-cluster", "resourceVersion": "7"}
    document["status"] = status or {}

    def take(tx: Transaction) -> list[Applied]:
        parsed = parse(document, strict=False, origin="hub-cluster")
        made = draft(parsed, tx.now, origin=Origin.HUB_CLUSTER, uid="of-the-hub-cluster")
        return apply_documents(tx, [made], Intake())

    return await hub.write(take)


async def test_one_that_was_said_on_the_hub_cluster_is_not_done_again(tmp_path: Path):
    """Though the store has forgotten it: its status there says that it is over."""
    async with running_hub(tmp_path) as hub:
        fleet = await placed(hub, CONFIG)
        over = {
            "type": "Executed", "status": "True", "reason": "R", "message": "done long ago",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }  # fmt: skip
        await taken(hub, eviction("m2"), {"conditions": [over]})
        await fleet.turn()
        await fleet.sync()
        assert fleet.held("m2") == ["ConfigMap/settings"]
        assert (await told(hub))["Executed"] == ("True", "done long ago")


async def test_it_is_shown_before_it_is_made(tmp_path: Path):
    """A dry run makes nothing; asked for by REST it is an object with a name of its own."""
    async with running_hub(tmp_path) as hub:
        fleet = await placed(hub, CONFIG)
        settings = hub.hub.settings

        def asked(cluster: str, name: str = "everywhere", *, carry_out: bool) -> Any:
            return lambda tx: evict_placement(
                tx, "shop", name, cluster, settings, "ann", carry_out=carry_out
            )

        shown = await hub.write(asked("m2", carry_out=False))
        assert (shown["allowed"], shown["objectCount"], shown["eviction"]) == (True, 1, "")
        await fleet.turn()
        assert fleet.held("m2") == ["ConfigMap/settings"]
        done = await hub.write(asked("m2", carry_out=True))
        assert done["eviction"].startswith("everywhere-")
        assert (await told(hub, done["eviction"]))["Executed"][0] == "True"
        (entry,) = await hub.hub.read(audit.list_entries, {"principal": "ann"})
        assert (entry.kind, entry.namespace, entry.name) == (
            "ResourcePlacement",
            "shop",
            "everywhere",
        )
        with pytest.raises(Rejected, match="nosuch"):
            await hub.write(asked("m2", "nosuch", carry_out=False))


async def test_jobs_of_the_placement_there_are_taken_back(tmp_path: Path):
    """As a drain takes them: each waits for its member's word before it starts anywhere; others stay."""
    async with running_hub(tmp_path) as hub:
        fleet = await placed(hub, CONFIG)
        jobs = {name: await hub.submit(f"runs-{name}") for name in ("m1", "m2")}
        row = await fleet.object("ResourcePlacement", "everywhere", "shop")
        assert row is not None
        owned: list[WorkloadChange] = [{"uid": job, "placement": row.uid} for job in jobs.values()]
        await hub.write(lambda tx: workloads.change(tx, owned))
        for name, job in jobs.items():  # so its work says by which placement it was placed
            await hub.place(job, name)
        await fleet.apply(eviction("m2"))
        after = await hub.hub.read(workloads.get_many, list(jobs.values()))
        reasons = {name: (after[job].evicted or {}).get("reason") for name, job in jobs.items()}
        assert reasons == {"m1": None, "m2": REASON}


async def test_old_ones_go(tmp_path: Path):
    """Those of REST by retention; those of the hub cluster stay until they are gone there."""
    async with running_hub(tmp_path) as hub:
        fleet = await placed(hub, CONFIG)
        await fleet.apply(eviction("m9", "old"))
        await taken(hub, eviction("m9", "theirs"), None)
        hub.clock.advance(dt.timedelta(days=8).total_seconds())
        await fleet.apply(eviction("m9", "new"))
        settings = hub.hub.settings
        assert await hub.write(lambda tx: retention.trim_evictions(tx, settings)) == 1
        left = await hub.hub.read(objects.list_kind, PLACEMENT, "ResourcePlacementEviction")
        assert [each.name for each in left] == ["new", "theirs"]
