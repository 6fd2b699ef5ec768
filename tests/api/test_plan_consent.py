"""`POST /v1/plan` of placements, by the consent that members report."""

from pathlib import Path
from typing import Any

import pytest

from hub.services.consent.placed import name_placed
from tests.api.planning import planned
from tests.api.scheduling import scheduling
from tests.services.hubs import a_pool

pytestmark = pytest.mark.anyio

DOCUMENTS: list[dict[str, Any]] = [
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "shop"}},
    {
        "apiVersion": "placement.kubernetes-fleet.io/v1",
        "kind": "ResourcePlacement",
        "metadata": {"name": "p", "namespace": "shop"},
        "spec": {
            "resourceSelectors": [{"group": "", "version": "v1", "kind": "ConfigMap", "name": "c"}]
        },
    },
]
REFUSES = {"revision": 1, "states": {"shop": "NotAccepted"}}


async def test_a_plan_names_the_command_for_a_member_without_consent(tmp_path: Path) -> None:
    """The placement would leave the member out; other members are chosen."""
    async with scheduling(tmp_path) as (hub, live):
        await live.hub.write(name_placed, frozenset({"shop"}))
        await live.cluster("d", a_pool(cpu="4", memory="8Gi"), consent=REFUSES)
        (found,) = (await planned(hub, *DOCUMENTS))["placements"]
        told = {each["name"]: each for each in found["clusters"]}
        assert {name: each["selected"] for name, each in told.items()} == {"c": True, "d": False}
        assert "kubectl label namespace shop roadstead.dev/accept=" in told["d"]["message"]


async def test_a_plan_says_that_agents_were_not_asked_yet(tmp_path: Path) -> None:
    """Nothing is named because of a plan: its answer holds where the namespace accepts the hub."""
    async with scheduling(tmp_path) as (hub, live):
        nothing = {"revision": 0, "states": {}}
        await live.cluster("d", a_pool(cpu="4", memory="8Gi"), consent=nothing)
        (found,) = (await planned(hub, *DOCUMENTS))["placements"]
        assert {each["name"]: each["selected"] for each in found["clusters"]} == {
            "c": True,
            "d": True,
        }
        assert "where namespace shop accepts this hub" in found["message"]
