"""Objects of placements go where the namespaces accept the hub, as agents report; what is placed stays."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from hub.services.consent import namespaces as consents, placed
from hub.services.context.settings import Settings
from hub.services.placements.rebalance import rebalance
from shared.conditions import find
from shared.consent import NOT_ACCEPTED
from shared.documents import Json
from tests.services.members.hubs import Running, running_hub
from tests.services.placements import runs
from tests.services.placements.fleet import CONFIG, Fleet, capacity, conditions
from tests.services.placements.policies import n, placement

pytestmark = pytest.mark.anyio

OBJECTS = CONFIG.rpartition("---")[0]
GREEN = CONFIG.replace("color: blue", "color: green")
PLACEMENT = ("ResourcePlacement", "everywhere", "shop")
NO, YES = {"shop": NOT_ACCEPTED}, {"shop": "Labelled"}
SHOP = """
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Namespace
metadata: {name: team}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: spaces}
spec:
  resourceSelectors:
  - {group: "", version: v1, kind: Namespace, name: shop}
"""
TEAM = """  - {group: "", version: v1, kind: Namespace, name: team, selectionScope: NamespaceOnly}
"""


async def report(fleet: Fleet, states: dict[str, str], *members: str) -> None:
    """These members' agents report consent; the controller follows."""
    for name in members:
        told = {"revision": 1, "states": states}
        await fleet.agents[name].sync(capacity=capacity(8, 32) | {"consent": told})
    await fleet.turn()


async def started(hub: Running, **reports: dict[str, str]) -> Fleet:
    """Members that report these states of namespaces."""
    fleet = await Fleet.start(hub, *reports)
    for name, states in reports.items():
        await report(fleet, states, name)
    return fleet


async def told(fleet: Fleet) -> Json:
    """Condition NotAccepted of the placement, or {}."""
    status = await fleet.status(*PLACEMENT)
    found = find(status["conditions"], NOT_ACCEPTED)
    return {} if found is None else dict(found)


async def of_member(fleet: Fleet, name: str) -> Json:
    """Conditions of one cluster by type: (status, reason, message)."""
    status = await fleet.status(*PLACEMENT)
    each = next(e for e in status["placementStatuses"] if e["clusterName"] == name)
    return {c["type"]: (c["status"], c["reason"], c["message"]) for c in each["conditions"]}


async def colors(fleet: Fleet) -> dict[str, str]:
    """The color that each member was given, once all have asked."""
    found: dict[str, str] = {}
    for name, agent in fleet.agents.items():
        await agent.sync()
        given = [
            w["manifest"]["data"]["color"] for w in agent.works.values() if w["action"] == "Apply"
        ]
        found |= dict.fromkeys([name], *given) if given else {}
    return found


async def hub_id(fleet: Fleet) -> str:
    return (await fleet.hub.hub.read(consents.load)).hub_id


async def test_a_placement_of_all_leaves_out_a_member_without_consent(tmp_path: Path) -> None:
    """It goes to the others; condition and cluster name the command; consent brings it there."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, m1=YES, m2={"shop": "Absent"}, m3=NO)
        await fleet.apply(CONFIG)
        await fleet.sync()
        assert await colors(fleet) == {"m1": "blue", "m2": "blue"}
        command = f"kubectl label namespace shop roadstead.dev/accept={await hub_id(fleet)}"
        said = await told(fleet)
        assert (said["status"], said["reason"]) == ("True", NOT_ACCEPTED)
        assert said["message"].startswith('Cluster "m3" was not picked')
        assert command in said["message"]
        status, reason, message = (await of_member(fleet, "m3"))["Scheduled"]
        assert (status, reason, command in message) == ("False", "ScheduleFailed", True)
        await report(fleet, YES, "m3")
        assert sorted(await colors(fleet)) == ["m1", "m2", "m3"]
        assert await told(fleet) == {}


async def test_the_best_are_picked_among_those_that_accept_the_hub(tmp_path: Path) -> None:
    """While enough are found, no refusal is shown; a member is picked once it is needed and accepts."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, m1=YES, m2=YES, m3=NO)
        await fleet.apply(OBJECTS)
        await fleet.apply(n(2))
        assert sorted(await colors(fleet)) == ["m1", "m2"]
        assert await told(fleet) == {}
        await fleet.apply(n(3))
        status = await fleet.status(*PLACEMENT)
        assert conditions(status)["ResourcePlacementScheduled"] == (
            "False",
            "SchedulingPolicyUnfulfilled",
        )
        assert "kubectl label" in (await told(fleet))["message"]
        await report(fleet, YES, "m3")
        assert sorted(await colors(fleet)) == ["m1", "m2", "m3"]


async def test_a_member_that_is_named_is_refused_without_consent(tmp_path: Path) -> None:
    """PickFixed has no other choice: the condition names the member, and nothing is applied there."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, m1=YES, m2=NO)
        fixed = placement(placementType="PickFixed", clusterNames=["m1", "m2"])
        await fleet.apply(OBJECTS)
        await fleet.apply(fixed)
        assert await colors(fleet) == {"m1": "blue"}
        found = conditions(await fleet.status(*PLACEMENT))
        assert found["ResourcePlacementScheduled"][0] == "False"
        assert "m2" in (await told(fleet))["message"]
        await report(fleet, YES, "m2")
        assert sorted(await colors(fleet)) == ["m1", "m2"]


async def test_each_namespace_of_a_cluster_wide_placement_counts(tmp_path: Path) -> None:
    """Selected Namespaces count, with their objects or alone: one refusal keeps the member out."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, m1=YES | {"team": NOT_ACCEPTED}, m2=YES | {"team": "Absent"})
        await fleet.apply(SHOP + TEAM)
        await fleet.sync()
        assert (fleet.held("m1"), fleet.held("m2")) == ([], ["Namespace/shop", "Namespace/team"])
        assert (await fleet.hub.hub.read(consents.load)).names == {"shop", "team"}


async def test_agents_are_asked_about_new_namespaces_and_awaited(tmp_path: Path) -> None:
    """The placement waits with reason AwaitingConsentReport, and picks as soon as all have reported."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, m1={}, m2={})
        await fleet.apply(OBJECTS)
        await fleet.apply(n(1))
        named = await fleet.hub.hub.read(consents.load)
        assert (named.revision, sorted(named.names)) == (1, ["shop"])
        found = conditions(await fleet.status(*PLACEMENT))
        assert found["ResourcePlacementScheduled"] == ("False", "AwaitingConsentReport")
        await report(fleet, YES, "m1")
        assert await colors(fleet) == {}
        await report(fleet, YES, "m2")
        assert len(await colors(fleet)) == 1


async def test_a_member_that_does_not_report_holds_up_no_placement_for_long(
    tmp_path: Path,
) -> None:
    """After five seconds the others are picked, though nothing else happens meanwhile."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, m1=YES, m2={})
        await fleet.apply(OBJECTS)
        await fleet.apply(n(1))
        assert await colors(fleet) == {}
        hub.clock.advance(5.1)
        await fleet.turn()
        assert await colors(fleet) == {"m1": "blue"}


async def test_agents_of_an_earlier_release_are_placed_on_as_before(tmp_path: Path) -> None:
    """They report no consent: no namespace is named, and nothing is awaited."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1", "m2")
        await fleet.apply(CONFIG)
        assert sorted(await colors(fleet)) == ["m1", "m2"]
        assert (await fleet.hub.hub.read(consents.load)).revision == 0


async def test_withdrawn_consent_keeps_what_is_placed_and_brings_nothing_newer(
    tmp_path: Path,
) -> None:
    """The member stays picked; others get the new version within the budget; consent brings it there too."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, m1=YES, m2=YES, m3=YES)
        await fleet.apply(CONFIG)
        await fleet.sync()
        await report(fleet, NO, "m1")
        said = await of_member(fleet, "m1")
        assert said["RolloutStarted"][0] == "True"
        assert said[NOT_ACCEPTED][:2] == ("True", NOT_ACCEPTED)
        await fleet.sync("m1", phase="Failed", reason=NOT_ACCEPTED, available=False)
        await fleet.apply(GREEN)
        for _ in range(3):
            await fleet.sync("m2", "m3")
        assert await colors(fleet) == {"m1": "blue", "m2": "green", "m3": "green"}
        status, reason, message = (await of_member(fleet, "m1"))["RolloutStarted"]
        assert (status, reason) == ("False", NOT_ACCEPTED)
        assert "it has version 0" in message
        assert "kubectl label namespace shop" in message
        assert "keeps its objects" in (await told(fleet))["message"]
        await report(fleet, YES, "m1")
        assert (await colors(fleet))["m1"] == "green"
        assert await told(fleet) == {}


async def test_a_placement_that_goes_takes_back_what_is_there_without_consent(
    tmp_path: Path,
) -> None:
    """Withdrawn consent keeps no object: the agent may delete objects that it created."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, m1=YES, m2=YES)
        await fleet.apply(CONFIG)
        await fleet.sync()
        await report(fleet, NO, "m1")
        fixed = placement(placementType="PickFixed", clusterNames=["m2"])
        await fleet.apply(fixed)
        await fleet.sync()
        assert (fleet.held("m1"), fleet.held("m2")) == ([], ["ConfigMap/settings"])


async def test_a_changed_policy_takes_nothing_back_where_consent_was_withdrawn(
    tmp_path: Path,
) -> None:
    """The objects stay, as they do while the policy is the same."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, m1=YES, m2=YES)
        await fleet.apply(CONFIG)
        await fleet.sync()
        await report(fleet, NO, "m1")
        tolerated = [{"key": "slow", "operator": "Exists"}]
        await fleet.apply(placement(placementType="PickAll", tolerations=tolerated))
        await fleet.sync()
        assert sorted(await colors(fleet)) == ["m1", "m2"]


async def test_a_picked_member_that_was_given_nothing_yet_is_left_again(tmp_path: Path) -> None:
    """Its people withdraw consent while the rollout delays it: the hub no longer picks it."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, m1=YES, m2=YES)
        await fleet.apply(OBJECTS)
        for name in ("m1", "m2"):
            await fleet.sync()
            body = yaml.safe_load(placement(placementType="PickFixed", clusterNames=[name]))
            body["spec"]["strategy"] = {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
            await fleet.apply(yaml.safe_dump(body))
        assert (await of_member(fleet, "m2"))["RolloutStarted"][1] == "RolloutNotStartedYet"
        await report(fleet, NO, "m2")
        assert 'Cluster "m2" was not picked' in (await told(fleet))["message"]
        await fleet.sync()
        assert await colors(fleet) == {}


async def test_rebalance_proposes_no_member_without_consent(tmp_path: Path) -> None:
    """It uses the same filter."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, m1=YES)
        await fleet.apply(OBJECTS)
        await fleet.apply(n(1))
        await fleet.sync()
        fleet.agents["m2"] = await hub.join("m2")
        await report(fleet, NO, "m2")

        def asked(tx: Any) -> Json:
            return rebalance(tx, "shop", "everywhere", {}, Settings(), "ann", carry_out=False)

        found = await fleet.hub.write(asked)
        assert found["stays"] == ["m1"]
        (other,) = [each for each in found["clusters"] if each["name"] == "m2"]
        assert "does not accept this hub" in other["message"]


async def test_beyond_the_bound_the_agent_alone_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Namespaces of placements take at most their share of names; the rest is placed and not awaited."""
    monkeypatch.setattr(placed, "MOST_PLACED", 1)
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, m1=NO)
        await fleet.apply(CONFIG)
        await fleet.apply(CONFIG.replace("shop", "team"))
        named = await fleet.hub.hub.read(consents.load)
        assert named.names == {"shop"}
        hub.clock.advance(5.1)
        await fleet.turn()
        assert await colors(fleet) == {"m1": "blue"}
        assert [work["namespace"] for work in fleet.agents["m1"].works.values()] == ["team"]


async def test_a_placement_that_is_gone_makes_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hub names its namespaces no longer once others need the room."""
    monkeypatch.setattr(placed, "MOST_PLACED", 1)
    monkeypatch.setattr(consents, "MOST_NAMES", 1)
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, m1=YES | {"team": NOT_ACCEPTED})
        await fleet.apply(CONFIG)
        await fleet.apply(CONFIG.replace("kind: ConfigMap, label", "kind: Secret, label"))
        await fleet.sync()
        await fleet.apply(CONFIG.replace("shop", "team"))
        assert (await fleet.hub.hub.read(consents.load)).names == {"team"}


async def test_a_run_waits_for_the_consent_of_a_member_that_withdrew_it(tmp_path: Path) -> None:
    """The member keeps its version and fails nothing; once it accepts the hub, the run ends."""
    async with running_hub(tmp_path) as hub:
        fleet = await runs.started(hub, runs.STRATEGY, runs.run("first"))
        await runs.roll(fleet)
        await report(fleet, YES, *runs.MEMBERS)
        await report(fleet, NO, "m3")
        await fleet.apply(runs.GREEN)
        await fleet.apply(runs.run("second"))
        await runs.roll(fleet)
        assert await runs.colors(fleet) == "ggbg"
        assert await runs.progress(fleet, "second") == (
            "UpdateRunProgressing",
            "stage rest: updating m3, 1 of 2 done",
        )
        assert "keeps its objects" in (await told(fleet))["message"]
        await report(fleet, YES, "m3")
        await runs.roll(fleet)
        assert await runs.colors(fleet) == "gggg"
        assert (await runs.progress(fleet, "second"))[0] == "UpdateRunSucceeded"


async def test_a_new_namespace_is_awaited_before_its_version_is_rolled_out(tmp_path: Path) -> None:
    """A placement that holds its clusters selects one more namespace: no version goes to a refusal."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, m1=YES)
        await fleet.apply(SHOP)
        await fleet.sync()
        await fleet.apply(SHOP + TEAM)
        held = [fleet.held("m1")]
        await fleet.agents["m1"].sync()
        held.append(fleet.held("m1"))
        await report(fleet, YES | {"team": "Absent"}, "m1")
        await fleet.sync()
        held.append(fleet.held("m1"))
        assert held == [
            ["Namespace/shop"],
            ["Namespace/shop"],
            ["Namespace/shop", "Namespace/team"],
        ]


async def test_a_runs_deadline_begins_once_the_report_is_there(tmp_path: Path) -> None:
    """While an agent has yet to report the new namespace, the run begins no cluster and names the report."""
    async with running_hub(tmp_path) as hub:
        fleet = await runs.started(hub, runs.STRATEGY)
        await report(fleet, {}, *runs.MEMBERS)
        await fleet.apply(runs.run("first"))
        reason, message = await runs.progress(fleet, "first")
        assert reason == "UpdateRunProgressing"
        assert message.startswith(
            "stage canary: waiting for m1: its agent has yet to report whether"
        )
        status = await runs.status_of(fleet, "first")
        assert all("startTime" not in each for each in status["stagesStatus"][0]["clusters"])
        await report(fleet, YES, *runs.MEMBERS)
        await runs.roll(fleet)
        assert await runs.colors(fleet) == "bbbb"


async def test_a_run_is_not_worked_out_while_a_report_is_due(tmp_path: Path) -> None:
    """Otherwise a canary with a late report is left out, and the clusters behind it begin at once."""
    async with running_hub(tmp_path) as hub:
        fleet = await runs.started(hub, runs.STRATEGY, placed=False)
        await report(fleet, {}, "m1")
        await report(fleet, YES, "m2", "m3", "m4")
        await fleet.apply(runs.EXTERNAL)
        await fleet.apply(runs.run("first"))
        initialized = conditions(await runs.status_of(fleet, "first"))["Initialized"]
        assert initialized == (
            "Unknown",
            "UpdateRunNotInitializedYet",
        )
        hub.clock.advance(consents.REPORTS_WITHIN.total_seconds() + 1)
        await fleet.turn()
        assert not fleet.held("m2")  # an agent that is paused is waited for until it is Suspect
        await report(fleet, YES, "m1")
        await runs.roll(fleet)
        assert await runs.colors(fleet) == "bbbb"
        assert (await runs.progress(fleet, "first"))[0] == "UpdateRunSucceeded"
