"""Objects that move: off a cluster that terms no longer hold of, and where they would be picked anew."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from hub.services.context.settings import Settings
from hub.services.placements.rebalance import rebalance
from hub.store import audit
from shared.errors import Rejected
from tests.services.members.hubs import running_hub, seen
from tests.services.placements.fleet import CONFIG, JOBS, Fleet, capacity
from tests.services.placements.policies import (
    CPU,
    holders,
    labelled,
    member,
    n,
    placement,
    sorted_by,
)

pytestmark = pytest.mark.anyio

COST = "kubernetes.azure.com/per-cpu-core-cost"


async def started(hub: Any, *members: str) -> Fleet:
    fleet = await Fleet.start(hub, *members)
    await fleet.apply(CONFIG.rpartition("---")[0])
    return fleet


async def holding(fleet: Fleet, *unheard: str) -> list[str]:
    """Members that hold the object while those `unheard` have not said what they did."""
    for agent in fleet.agents.values():
        await agent.sync()
    heard = [name for name in fleet.agents if name not in unheard]
    await fleet.sync(*heard)
    for agent in fleet.agents.values():
        await agent.sync()
    return [name for name in fleet.agents if fleet.held(name)]


async def test_who_no_longer_satisfies_enduring_terms_is_replaced_the_new_one_first(
    tmp_path: Path,
):
    """It keeps the objects until they are available elsewhere, and then gives them up."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, "m1", "m2")
        for name in ("m1", "m2"):
            await fleet.apply(member(name, zone="a"))
        await fleet.apply(n(1, enduring=[labelled(zone="a")]))
        found = [await holders(fleet)]
        await fleet.apply(member("m2", zone="b"))
        found.append(await holding(fleet, "m1"))
        status = await fleet.status("ResourcePlacement", "everywhere", "shop")
        told = {
            s["clusterName"]: s["conditions"][0]["message"] for s in status["placementStatuses"]
        }
        found.append(await holders(fleet))
        assert found == [["m2"], ["m1", "m2"], ["m1"]]
        assert told["m2"].startswith('Cluster "m2" holds it until another is available')


async def test_who_leaves_stays_until_the_newest_version_is_available_elsewhere(tmp_path: Path):
    """The object changes while the replacement has its older version alone."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, "m1", "m2")
        for name in ("m1", "m2"):
            await fleet.apply(member(name, zone="a"))
        await fleet.apply(n(1, enduring=[labelled(zone="a")]))
        await holders(fleet)
        await fleet.apply(member("m2", zone="b"))
        await holding(fleet, "m1")
        (work,) = fleet.agents["m1"].works.values()
        entry = seen(work["uid"], "Applied", 0, available=True)
        entry.generation = work["generation"]
        await fleet.agents["m1"].sync(entry)  # and before the controller looks, the object changes
        await fleet.apply(CONFIG.rpartition("---")[0].replace("blue", "green"))
        found = [await holding(fleet, "m1")]
        found.append(await holders(fleet))
        assert found == [["m1", "m2"], ["m1"]]


async def test_without_a_replacement_it_stays_where_it_is(tmp_path: Path):
    """And goes once somebody satisfies the terms; what is merely required at the pick moves nobody."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, "m1", "m2")
        await fleet.apply(member("m2", zone="a"))
        await fleet.apply(n(1, enduring=[labelled(zone="a")]))
        found = [await holders(fleet)]
        await fleet.apply(member("m2", zone="b"))
        found.append(await holders(fleet))
        status = await fleet.status("ResourcePlacement", "everywhere", "shop")
        assert status["conditions"][0]["reason"] == "SchedulingPolicyUnfulfilled"
        await fleet.apply(member("m1", zone="a"))
        found.append(await holders(fleet))
        assert found == [["m2"], ["m2"], ["m1"]]


async def test_one_that_satisfies_them_again_in_time_stays(tmp_path: Path):
    """Nothing is withdrawn that is wanted again before its replacement is available."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, "m1")
        await fleet.apply(member("m1", zone="a"))
        await fleet.apply(n(1, enduring=[labelled(zone="a")]))
        found = [await holders(fleet)]
        for zone in ("b", "a"):
            await fleet.apply(member("m1", zone=zone))
            found.append(await holders(fleet))
        assert found == [["m1"]] * 3
        status = await fleet.status("ResourcePlacement", "everywhere", "shop")
        assert status["conditions"][0]["status"] == "True"


@pytest.mark.parametrize("surge", [0, "0%"])
async def test_where_no_more_clusters_are_allowed_the_strategy_says_who_goes_first(
    tmp_path: Path, surge: int | str
):
    """With a surge of 0 no cluster waits for a replacement that could never come."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, "m1", "m2")
        for name in ("m1", "m2"):
            await fleet.apply(member(name, zone="a"))
        strategy = {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxSurge": surge, "maxUnavailable": 1},
        }
        body = yaml.safe_load(n(1, enduring=[labelled(zone="a")]))
        body["spec"]["strategy"] = strategy
        await fleet.apply(yaml.safe_dump(body))
        found = [await holders(fleet)]
        await fleet.apply(member("m2", zone="b"))
        await holders(fleet)
        found.append(await holders(fleet))
        assert found == [["m2"], ["m1"]]


async def test_everywhere_means_where_the_terms_hold_now(tmp_path: Path):
    """PickAll gives up who no longer satisfies enduring terms, by properties as well; nobody replaces it."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, "m1", "m2")
        expression = {"name": COST, "operator": "Le", "values": ["1"]}
        term = {"propertySelector": {"matchExpressions": [expression]}}
        for name, cost in (("m1", "1"), ("m2", "1")):
            await fleet.agents[name].sync(capacity={**capacity(8, 32), "properties": {COST: cost}})
        await fleet.apply(placement(enduring=[term]))
        found = [await holders(fleet)]
        await fleet.agents["m1"].sync(capacity={**capacity(8, 32), "properties": {COST: "2"}})
        await fleet.turn()
        found.append(await holders(fleet))
        assert found == [["m1", "m2"], ["m2"]]


ONE = "  policy: {placementType: PickN, numberOfClusters: 1}\n"


async def asked(fleet: Fleet, *, carry_out: bool, name: str = "everywhere") -> dict[str, Any]:
    def do(tx: Any) -> Any:
        return rebalance(tx, "shop", name, {}, Settings(), "ada", carry_out=carry_out)

    found: dict[str, Any] = await fleet.hub.write(do)
    return found


async def test_a_rebalance_is_shown_first_and_moves_the_new_one_first(tmp_path: Path):
    """What would be picked anew; nothing moves until it is carried out, and then in order."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, "m1", "m2", "m3")
        await fleet.apply(n(2, preferred=[sorted_by(CPU, 100)]))
        found = [await holders(fleet)]
        await fleet.agents["m1"].sync(capacity=capacity(99, 32))
        await fleet.turn()
        shown = await asked(fleet, carry_out=False)
        found.append(await holders(fleet))
        assert (shown["stays"], shown["goes"], shown["comes"]) == (["m3"], ["m2"], ["m1"])
        assert not shown["carriedOut"]
        assert shown["clusters"][0] == {
            "name": "m1",
            "selected": True,
            "affinityScore": 100,
            "topologySpreadScore": 0,
            "message": shown["clusters"][0]["message"],
        }
        assert (await asked(fleet, carry_out=True))["carriedOut"]
        await fleet.turn()
        found.append(await holding(fleet, "m1"))
        found.append(await holders(fleet))
        assert found == [["m2", "m3"], ["m2", "m3"], ["m1", "m2", "m3"], ["m1", "m3"]]
        assert (await asked(fleet, carry_out=True))[
            "message"
        ] == "a new pick would choose the same clusters"
        (entry,) = await hub.hub.read(audit.list_entries, {"principal": "ada"})
        assert entry.verb == "rebalance"


async def test_ties_move_nobody(tmp_path: Path):
    """Of equals who has the objects is picked again."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, "m1")
        await fleet.apply(n(1))
        await holders(fleet)
        fleet.agents["m2"] = await hub.join("m2")
        await fleet.turn()
        shown = await asked(fleet, carry_out=True)
        assert (shown["stays"], shown["carriedOut"]) == (["m1"], False)


@pytest.mark.parametrize(
    ("documents", "name", "why"),
    [
        (CONFIG, "everywhere", "PickAll has no choice to make"),
        (JOBS + ONE, "jobs", "Jobs that run are never moved"),
    ],
)  # fmt: skip
async def test_where_nothing_can_move_it_says_why(
    tmp_path: Path, documents: str, name: str, why: str
):
    """Everything is everywhere already, or it is a Job's."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, "m1", "m2")
        await fleet.apply(documents)
        told = await asked(fleet, carry_out=True, name=name)
        assert why in told["message"]
        assert (told["carriedOut"], told["goes"], told["comes"]) == (False, [], [])


async def test_a_placement_that_is_not_there_is_none(tmp_path: Path):
    """404, by its kind and name."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, "m1")
        with pytest.raises(Rejected, match="there is no ResourcePlacement shop/absent"):
            await asked(fleet, carry_out=False, name="absent")
