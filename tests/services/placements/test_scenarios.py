"""KubeFleet's acceptance scenarios of picking: every cluster, the best N, taints, policies that change.

Members m1, m2, … have 8, 16, … cores; names below are those that hold the object.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from hub.services.objects.fence import fence_cluster
from tests.services.members.hubs import running_hub
from tests.services.placements.fleet import CONFIG, Fleet, capacity
from tests.services.placements.policies import (
    CPU,
    NODES,
    having,
    holders,
    labelled,
    member,
    n,
    placement,
    sorted_by,
)

pytestmark = pytest.mark.anyio

TAINT = [{"key": "only", "value": "gpu", "effect": "NoSchedule"}]
TOLERATION = {"key": "only", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"}
SPREAD = [{"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]
WIDE = [{**SPREAD[0], "whenUnsatisfiable": "ScheduleAnyway"}]


async def played(tmp_path: Path, members: int, *steps: str) -> list[list[str]]:
    """Who holds the object after each step; a step is applied to a fleet of `members`."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, *(f"m{i + 1}" for i in range(members)))
        await fleet.apply(CONFIG.rpartition("---")[0])
        found = []
        for step in steps:
            await fleet.apply(step)
            found.append(await holders(fleet))
        return found


ZONES = "---\n".join(
    member(f"m{i}", zone=zone, tier=tier)
    for i, (zone, tier) in enumerate([("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")], start=1)
)
ALL = ["m1", "m2", "m3", "m4"]


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        pytest.param([CONFIG], [ALL], id="no policy"),
        pytest.param([placement(placementType="PickAll")], [ALL], id="no affinity"),
        pytest.param([placement(required=[labelled(zone="a")])], [["m1", "m2"]], id="labels"),
        pytest.param(
            [placement(required=[labelled(zone="a")]), placement(required=[labelled(zone="b")])],
            [["m1", "m2"], ["m3", "m4"]],
            id="labels updated",
        ),
        pytest.param([placement(required=[labelled(zone="c")])], [[]], id="labels none match"),
        pytest.param(
            [placement(required=[labelled(zone="a", tier="x"), labelled(tier="y")])],
            [["m1", "m2", "m4"]],
            id="terms are ORed, what is in one is ANDed",
        ),
        pytest.param([placement(required=[])], [ALL], id="no terms"),
        pytest.param(
            [placement(required=[labelled(zone="a") | having(CPU, "Gt", "8")])],
            [["m2"]],
            id="label + property",
        ),
        pytest.param([placement(required=[having(CPU, "Ge", "99")])], [[]], id="capacity none"),
        pytest.param([n(2)], [["m3", "m4"]], id="N plain: the larger names"),
        pytest.param([n(3), n(1)], [["m2", "m3", "m4"], ["m4"]], id="N down"),
        pytest.param([n(1), n(3)], [["m4"], ["m2", "m3", "m4"]], id="N up"),
        pytest.param([n(2), n(0), n(1)], [["m3", "m4"], [], ["m4"]], id="N to zero and back"),
        pytest.param([n(9)], [ALL], id="N not enough"),
        pytest.param(
            [n(2, required=[labelled(tier="x")], topologySpreadConstraints=SPREAD)],
            [["m1", "m3"]],
            id="N affinity + spread",
        ),
        pytest.param([n(2, topologySpreadConstraints=SPREAD)], [["m2", "m4"]], id="N spread"),
        pytest.param(
            [
                n(2, required=[labelled(tier="x")], topologySpreadConstraints=SPREAD),
                n(2, required=[labelled(zone="a")], topologySpreadConstraints=WIDE),
            ],
            [["m1", "m3"], ["m1", "m2"]],
            id="N both updated",
        ),
        pytest.param(
            [n(3, required=[labelled(zone="a")], topologySpreadConstraints=SPREAD)],
            [["m2"]],
            id="N a zone that may not be picked counts",
        ),
        pytest.param([n(2, preferred=[sorted_by(CPU, 10, "Ascending")])], [["m1", "m2"]], id="N one sorter"),
        pytest.param([n(2, preferred=[sorted_by(CPU, -10)])], [["m1", "m2"]], id="N a negative weight"),
        pytest.param(
            [n(1, preferred=[sorted_by(CPU, 10), sorted_by(CPU, 20, "Ascending")])],
            [["m1"]],
            id="N several sorters",
        ),
        pytest.param(
            [n(1, preferred=[sorted_by(CPU, 10, zone="a")])], [["m2"]], id="N label + sorter"
        ),
        pytest.param(
            [n(1, preferred=[{"weight": -5, "preference": labelled(zone="b")}])],
            [["m2"]],
            id="N a negative weight of labels",
        ),
        pytest.param(
            [n(1, required=[labelled(tier="x")], preferred=[sorted_by(CPU, 10, "Ascending")])],
            [["m1"]],
            id="N required + preferred",
        ),
        pytest.param(
            [n(2, preferred=[sorted_by("example.com/absent", 10)])],
            [["m3", "m4"]],
            id="N nobody has the property",
        ),
        pytest.param(
            [n(2, preferred=[sorted_by(NODES, 10)])], [["m3", "m4"]], id="N equal everywhere"
        ),
    ],
)  # fmt: skip
async def test_who_is_picked(tmp_path: Path, steps: list[str], found: list[list[str]]):
    """By labels, properties, spread and preferences, after each change of the policy."""
    assert (await played(tmp_path, 4, ZONES, *steps))[1:] == found


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        pytest.param([member("m2", TAINT), CONFIG], [["m1"]], id="a taint keeps away"),
        pytest.param([CONFIG, member("m2", TAINT)], [["m1", "m2"]], id="whom it has it keeps"),
        pytest.param(
            [member("m2", TAINT), CONFIG, member("m2")], [["m1"], ["m1", "m2"]], id="taint removed"
        ),
        pytest.param(
            [member("m2", TAINT), placement(), placement(tolerations=[TOLERATION])],
            [["m1"], ["m1", "m2"]],
            id="toleration added",
        ),
        pytest.param(
            [member("m2", TAINT), member("m1", [{**TAINT[0], "value": "x"}]), n(2, tolerations=[TOLERATION])],
            [["m2"]],
            id="N one is tolerated",
        ),
        pytest.param(
            [member("m2", TAINT), placement(tolerations=[{"operator": "Exists"}])],
            [["m1", "m2"]],
            id="everything is tolerated",
        ),
        pytest.param(
            [member("m2", TAINT), placement(placementType="PickFixed", clusterNames=["m2"])],
            [["m2"]],
            id="PickFixed ignores them",
        ),
    ],
)  # fmt: skip
async def test_taints(tmp_path: Path, steps: list[str], found: list[list[str]]):
    """A taint keeps new objects away unless it is tolerated, and unseats nobody."""
    told = await played(tmp_path, 2, *steps)
    assert told[len(told) - len(found) :] == found


CHOSEN = [
    pytest.param(member("m4", zone="z"), id="another label"),
    pytest.param(member("m4", TAINT, zone="b"), id="a taint"),
]


@pytest.mark.parametrize("change", CHOSEN)
async def test_who_is_chosen_does_not_move(tmp_path: Path, change: str):
    """PickN that has what it wants is left as it is, and so is PickAll."""
    wanted = n(1, required=[labelled(zone="b")])
    assert (await played(tmp_path, 4, ZONES, wanted, change))[-1] == ["m4"]


async def test_less_room_or_no_health_moves_nobody(tmp_path: Path):
    """Neither does silence: only who leaves the fleet is replaced."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1", "m2", "m3")
        await fleet.apply(CONFIG.rpartition("---")[0])
        await fleet.apply(n(1, required=[having(CPU, "Ge", "8")], preferred=[sorted_by(CPU, 9)]))
        found = [await holders(fleet)]
        for report in (
            capacity(1, 1),
            {**capacity(24, 96), "api_server": {"reason": "x", "down_s": 9}},
        ):
            await fleet.agents["m3"].sync(capacity=report)
            await fleet.turn()
            found.append(await holders(fleet))
        await hub.write(fence_cluster, "m3", "m3", "admin", 45.0, though_it_answers=True)
        await fleet.turn()
        await fleet.sync("m1", "m2")
        assert found == [["m3"]] * 3
        assert [name for name in ("m1", "m2") if fleet.held(name)] == ["m2"]


@pytest.mark.parametrize(("limit_s", "found"), [(45.0, []), (1000.0, ["m1"])])
async def test_how_long_a_member_may_be_silent_is_a_setting(
    tmp_path: Path, limit_s: float, found: list[str]
):
    """For objects as for Jobs; who is not picked for it is told what to look at."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        scheduling = replace(hub.hub.settings.scheduling, suspect_after_s=limit_s)
        hub.hub.settings = replace(hub.hub.settings, scheduling=scheduling)
        hub.clock.advance(100)
        await fleet.apply(CONFIG.rpartition("---")[0])
        await fleet.apply(n(1))
        status = await fleet.status("ResourcePlacement", "everywhere", "shop")
        placed = status["placementStatuses"]
        there = [
            each["clusterName"] for each in placed if each["conditions"][0]["status"] == "True"
        ]
        assert there == found
        if not found:
            told = placed[0]["conditions"][0]["message"]
            assert "silent for 100 s: see whether it runs there and reaches the hub" in told


async def test_an_unfulfilled_placement_takes_who_becomes_eligible(tmp_path: Path):
    """PickN that wants more, by label, by room and by joining; whom it has stays."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1", "m2")
        await fleet.apply(CONFIG.rpartition("---")[0])
        await fleet.apply(n(3, required=[labelled(zone="a") | having(CPU, "Ge", "8")]))
        found = [await holders(fleet)]
        await fleet.apply(member("m1", zone="a"))
        found.append(await holders(fleet))
        await fleet.agents["m2"].sync(capacity=capacity(1, 1))
        await fleet.apply(member("m2", zone="a"))
        found.append(await holders(fleet))
        await fleet.agents["m2"].sync(capacity=capacity(8, 8))
        await fleet.turn()
        found.append(await holders(fleet))
        assert found == [[], ["m1"], ["m1"], ["m1", "m2"]]
        status = await fleet.status("ResourcePlacement", "everywhere", "shop")
        assert status["conditions"][0]["reason"] == "SchedulingPolicyUnfulfilled"


async def test_scaling_moves_nobody(tmp_path: Path):
    """Who was picked stays when more are wanted, however good others are by now; of fewer the best stay."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1", "m2", "m3")
        await fleet.apply(CONFIG.rpartition("---")[0])
        found = []
        for count, cores in ((1, 24), (2, 1), (1, 1), (0, 1), (1, 1)):
            await fleet.agents["m3"].sync(capacity=capacity(cores, 32))
            await fleet.apply(n(count, preferred=[sorted_by(CPU, 9)]))
            found.append(await holders(fleet))
        assert found == [["m3"], ["m2", "m3"], ["m3"], [], ["m2"]]


async def test_a_changed_policy_is_picked_anew_and_ties_go_to_who_has_it(tmp_path: Path):
    """Who has the object already goes before a larger name of the same score."""
    steps = [
        n(1, preferred=[sorted_by(CPU, 9, "Ascending")]),
        n(1),
        n(1, required=[labelled(zone="b")]),
    ]
    assert (await played(tmp_path, 4, ZONES, *steps))[1:] == [["m1"], ["m1"], ["m4"]]


async def test_a_skew_that_is_too_large_is_repaired_pick_by_pick(tmp_path: Path):
    """Three in one zone, none in two others: each of these may get one, though the skew stays for a while."""
    zones = [member(f"m{i}", zone=zone) for i, zone in enumerate("aaabbcc", start=1)]
    steps = [
        "---\n".join(zones[:3]),
        n(3, topologySpreadConstraints=SPREAD),
        "---\n".join(zones[3:]),
        n(7, topologySpreadConstraints=SPREAD),
    ]
    found = await played(tmp_path, 7, *steps)
    assert found[-1] == [f"m{i}" for i in range(1, 8)]
