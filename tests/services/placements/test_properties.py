"""Placements by what members report: who becomes eligible is found, who is chosen stays."""

from pathlib import Path
from typing import Any

import pytest

from tests.services.members.hubs import running_hub
from tests.services.placements.fleet import CONFIG, Fleet, capacity

pytestmark = pytest.mark.anyio

COST = "kubernetes.azure.com/per-cpu-core-cost"
SIZE = "kubernetes.azure.com/vm-sizes/big/count"
NODES = "kubernetes-fleet.io/node-count"
CPU = "resources.kubernetes-fleet.io/allocatable-cpu"


def wanted(*requirements: tuple[str, str, str], labels: str = "") -> str:
    """A placement for every cluster with these properties, and these labels."""
    terms = "".join(
        f"\n                - {{name: {name}, operator: {operator}, values: ['{value}']}}"
        for name, operator, value in requirements
    )
    selector = f"labelSelector: {{matchLabels: {{{labels}}}}}\n              " if labels else ""
    return (
        CONFIG
        + f"""  policy:
    affinity:
      clusterAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          clusterSelectorTerms:
            - {selector}propertySelector:
                matchExpressions:{terms}
"""
    )


def a_report(nodes: int = 1, cpu: int = 8, **properties: str) -> dict[str, Any]:
    """`nodes` nodes of `cpu` cores, and further properties."""
    report = capacity(cpu, 32)
    report["pools"][0]["nodes"] = [
        {**report["pools"][0]["nodes"][0], "name": f"n{i}"} for i in range(nodes)
    ]
    return {**report, "node_count": nodes, "properties": properties}


async def holders(fleet: Fleet) -> list[str]:
    """Members that hold the ConfigMap."""
    await fleet.sync()
    return [name for name in fleet.agents if fleet.held(name)]


@pytest.mark.parametrize(
    ("requirements", "before", "after"),
    [
        ([(NODES, "Ge", "3")], {}, {"nodes": 3}),
        ([(NODES, "Ge", "2"), (CPU, "Gt", "16")], {"nodes": 2}, {"nodes": 3}),
        ([(COST, "Le", "0.05")], {COST: "0.06"}, {COST: "50m"}),
        ([(COST, "Le", "0.05"), (CPU, "Ge", "8")], {COST: "cheap"}, {COST: "0"}),
        ([(SIZE, "Gt", "0")], {}, {SIZE: "2"}),
    ],
)
async def test_who_gets_the_properties_is_picked_and_keeps_what_it_has_without_them(
    tmp_path: Path, requirements: list[Any], before: dict[str, Any], after: dict[str, Any]
):
    """PickAll follows what members report; nobody is unseated by it."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1", "m2")
        await fleet.agents["m1"].sync(capacity=a_report(**before))
        await fleet.apply(wanted(*requirements))
        found = [await holders(fleet)]
        for report in (after, before):
            await fleet.agents["m1"].sync(capacity=a_report(**report))
            await fleet.turn()
            found.append(await holders(fleet))
        assert found == [[], ["m1"], ["m1"]]


async def test_labels_and_properties_of_a_term_are_both_wanted(tmp_path: Path):
    """One that lacks either gets nothing."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1", "m2", "m3")
        for name, region in (("m1", "north"), ("m2", "south"), ("m3", "north")):
            await fleet.apply(LABELLED.format(name, region))
        for name, cost in (("m1", "1"), ("m2", "1"), ("m3", "9")):
            said: dict[str, Any] = {COST: cost}
            await fleet.agents[name].sync(capacity=a_report(**said))
        await fleet.apply(wanted((COST, "Lt", "5"), labels="region: north"))
        assert await holders(fleet) == ["m1"]


LABELLED = """
apiVersion: cluster.kubernetes-fleet.io/v1
kind: MemberCluster
metadata: {{name: {}, labels: {{region: {}}}}}
"""


async def test_a_member_whose_api_server_answers_again_is_picked(tmp_path: Path):
    """Its report says so, and changes nothing else."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        down = {**capacity(8, 32), "api_server": {"reason": "timeout", "down_s": 9}}
        await fleet.agents["m1"].sync(capacity=down)
        await fleet.apply(CONFIG)
        found = [await holders(fleet)]
        await fleet.agents["m1"].sync(capacity=capacity(8, 32))
        await fleet.turn()
        found.append(await holders(fleet))
        assert found == [[], ["m1"]]
