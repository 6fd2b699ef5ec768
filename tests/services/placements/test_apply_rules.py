"""What a placement's applyStrategy comes to at its members: the rules that each work carries."""

from pathlib import Path
from typing import Any

import pytest

from hub.domain.workloads.apply_options import ApplyOptions
from hub.services.works import compose
from shared.wire.versions import APPLY_RULES
from tests.services.members.hubs import running_hub
from tests.services.placements.fleet import CONFIG, Fleet

pytestmark = pytest.mark.anyio
PLAIN = {"force": None, "co_ownership": False, "compare_all": False}


async def told(tmp_path: Path, strategy: str, protocol: int) -> dict[str, Any]:
    """The one work, as the wire has it, of a placement with this applyStrategy."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub)
        agent = fleet.agents["m1"] = await hub.join("m1")
        agent.protocol = protocol
        await agent.sync()
        given = f"spec:\n  strategy: {{applyStrategy: {strategy}}}"
        await fleet.apply(CONFIG.replace("spec:", given))
        reply = await agent.sync()
        (work,) = reply["desired"]["works"]
        return work


@pytest.mark.parametrize(
    ("strategy", "rules"),
    [
        ("{}", {}),
        ("{type: ServerSideApply}", {}),
        ("{type: ServerSideApply, serverSideApplyConfig: {force: true}}", {"force": True}),
        ("{type: ServerSideApply, serverSideApplyConfig: {}}", {"force": False}),
        ("{allowCoOwnership: true}", {"co_ownership": True}),
        ("{comparisonOption: FullComparison}", {"compare_all": True}),
    ],
)
async def test_the_rules_are_those_of_the_strategy(
    tmp_path: Path, strategy: str, rules: dict[str, Any]
):
    """A field that is not set changes nothing of how Roadstead applies."""
    work = await told(tmp_path, strategy, APPLY_RULES)
    assert {name: work[name] for name in PLAIN} == PLAIN | rules


async def test_an_agent_of_before_is_told_nothing_that_it_does_not_know(tmp_path: Path):
    """Its own rules are those of before: forced over what is ours, others' owners no matter."""
    work = await told(tmp_path, "{allowCoOwnership: true}", APPLY_RULES - 1)
    assert not PLAIN.keys() & work.keys()


def test_what_is_not_asked_for_has_nothing_applied_anew():
    """Works of before have the hash that they had; each rule makes another."""
    plain = ApplyOptions(when_to_apply="Always", placed_by="X/y")
    assert plain.hashed() == {"when_to_apply": "Always", "placed_by": "X/y"}
    hashes = {
        compose.digest("h", options, 0)
        for options in (
            plain,
            ApplyOptions(when_to_apply="Always", placed_by="X/y", force=False),
            ApplyOptions(when_to_apply="Always", placed_by="X/y", force=True),
            ApplyOptions(when_to_apply="Always", placed_by="X/y", co_ownership=True),
            ApplyOptions(when_to_apply="Always", placed_by="X/y", compare_all=True),
        )
    }
    assert len(hashes) == 5
