"""What a person decides about drift in a member: accepted, restored or ignored, and what is refused."""

from pathlib import Path
from typing import Any

import pytest

from hub.domain.workloads.origin import Origin
from hub.services.objects.drift import DriftedObject, settle_drift
from hub.store import audit, objects
from shared.errors import Rejected
from shared.wire.versions import APPLY_RULES
from tests.services.members.hubs import Running, ran, running_hub, seen
from tests.services.placements.fleet import CONFIG, Fleet

pytestmark = pytest.mark.anyio
CAREFUL = CONFIG.replace(
    "spec:", "spec:\n  strategy: {applyStrategy: {whenToApply: IfNotDrifted}}"
)
AT = "2026-05-01T00:00:00Z"
DRIFT = {"path": "/data/color", "hub": '"blue"', "member": '"red"', "first_seen": AT}
ADDED = {"path": "/data/more", "hub": None, "member": '"x"', "first_seen": AT}
GONE = {"path": "/data/color", "hub": '"blue"', "member": None, "first_seen": AT}
MAP = DriftedObject("m1", "configmap", "shop", "settings")


async def drifted(
    hub: Running, *drift: dict[str, Any], text: str = CAREFUL, protocol=APPLY_RULES
) -> Fleet:
    """One member, whose ConfigMap differs so."""
    fleet = await Fleet.start(hub)
    agent = fleet.agents["m1"] = await hub.join("m1")
    agent.protocol = protocol
    await agent.sync()
    await fleet.apply(text)
    await fleet.sync(drift=list(drift) or [DRIFT])
    return fleet


async def settle(hub: Running, how: str, what: DriftedObject = MAP) -> dict[str, Any]:
    return await hub.write(settle_drift, how, what, "ann", hub.hub.settings.intake)


async def refusal(hub: Running, how: str, what: DriftedObject = MAP) -> Rejected:
    with pytest.raises(Rejected) as refused:
        await settle(hub, how, what)
    return refused.value


async def manifest(fleet: Fleet) -> dict[str, Any]:
    row = await fleet.object("ConfigMap", "settings", "shop")
    assert row is not None
    return row.manifest


@pytest.mark.parametrize(
    ("drift", "data"),
    [
        (DRIFT, {"color": "red"}),
        (ADDED, {"color": "blue", "more": "x"}),
        (GONE, {}),
    ],
)
async def test_accepted_values_become_the_hubs(tmp_path: Path, drift: dict[str, Any], data: Any):
    """Changed, added or taken out, as an apply would; every member gets them."""
    async with running_hub(tmp_path) as hub:
        fleet = await drifted(hub, drift)
        told = await settle(hub, "accept")
        assert (told["result"], told["paths"], told["kind"]) == (
            "accept",
            [drift["path"]],
            "ConfigMap",
        )
        (entry,) = await hub.hub.read(audit.list_entries)
        assert entry.verb == "drift accept"
        assert (entry.kind, entry.namespace, entry.name) == ("ConfigMap", "shop", "settings")
        assert (await manifest(fleet))["data"] == data
        await fleet.turn()
        await fleet.sync()
        (work,) = fleet.agents["m1"].works.values()
        assert work["manifest"]["data"] == data


async def test_one_path_may_be_meant(tmp_path: Path):
    """The others stay as they are; a path that has not drifted is refused."""
    async with running_hub(tmp_path) as hub:
        fleet = await drifted(hub, DRIFT, ADDED)
        await settle(
            hub, "accept", DriftedObject("m1", "ConfigMap", "shop", "settings", "/data/more")
        )
        assert (await manifest(fleet))["data"] == {"color": "blue", "more": "x"}
        other = DriftedObject("m1", "ConfigMap", "shop", "settings", "/data/none")
        assert (await refusal(hub, "accept", other)).code == "NotFound"


async def test_what_was_edited_on_the_hub_meanwhile_is_not_lost(tmp_path: Path):
    """The member was held against what stood there before: whoever accepts has not seen the edit."""
    async with running_hub(tmp_path) as hub:
        fleet = await drifted(hub)
        await fleet.apply(CAREFUL.replace("color: blue", "color: green"))
        refused = await refusal(hub, "accept")
        assert (refused.code, "changed meanwhile" in refused.detail) == ("InvalidState", True)
        assert (await manifest(fleet))["data"] == {"color": "green"}


@pytest.mark.parametrize(
    ("path", "hub_value", "value"),
    [
        ("", None, '{"a": 1}'),
        ("/kind", '"ConfigMap"', '"Secret"'),
        ("/metadata/name", '"settings"', '"other"'),
        ("/metadata", None, '"x"'),
        ("/data/color/deeper", None, '"x"'),
        ("/data/color/deeper/still", None, '"x"'),
        ("/kind/0", None, '"x"'),
    ],
)
async def test_what_an_odd_agent_tells_makes_no_other_object(
    tmp_path: Path, path: str, hub_value: str | None, value: str
):
    """Paths and values are of the member: what the object is stays, and nothing breaks."""
    told = {"path": path, "hub": hub_value, "member": value, "first_seen": AT}
    async with running_hub(tmp_path) as hub:
        fleet = await drifted(hub, told)
        before = await manifest(fleet)
        await refusal(hub, "accept")
        assert await manifest(fleet) == before


async def test_ignored_paths_stand_in_the_annotation(tmp_path: Path):
    """Beside those that were there; the members are told of them."""
    async with running_hub(tmp_path) as hub:
        note = "annotations: {roadstead.dev/ignore-drift: /data/a}"
        noted = CAREFUL.replace("labels: {tier: web}", f"labels: {{tier: web}}, {note}")
        fleet = await drifted(hub, text=noted)
        await settle(hub, "ignore")
        notes = (await manifest(fleet))["metadata"]["annotations"]
        assert notes == {"roadstead.dev/ignore-drift": "/data/a,/data/color"}
        await fleet.turn()
        await fleet.sync()
        (work,) = fleet.agents["m1"].works.values()
        assert work["ignore_drift"] == ["/data/a", "/data/color"]


async def test_restoring_is_of_one_version(tmp_path: Path):
    """The member is told once more, to write over drift; a later version has the placement's rule."""
    async with running_hub(tmp_path) as hub:
        fleet = await drifted(hub)
        agent = fleet.agents["m1"]
        (before,) = agent.works.values()
        hashes = {before["hash"]}
        for _ in range(2):
            await settle(hub, "restore")
            await fleet.turn()
            await fleet.sync(drift=[DRIFT])
            (work,) = agent.works.values()
            assert (work["restore"], work["when_to_apply"]) == (True, "IfNotDrifted")
            hashes.add(work["hash"])
        assert len(hashes) == 3
        await fleet.apply(CAREFUL.replace("blue", "green"))
        await fleet.sync()
        (work,) = agent.works.values()
        assert (work["restore"], work["manifest"]["data"]) == (False, {"color": "green"})


async def test_an_agent_of_before_can_not_restore(tmp_path: Path):
    """It would leave the drift alone; that is said at once."""
    async with running_hub(tmp_path) as hub:
        await drifted(hub, protocol=APPLY_RULES - 1)
        refused = await refusal(hub, "restore")
        assert refused.code == "InvalidState"
        assert "the agent of m1 does not support this" in refused.detail


@pytest.mark.parametrize(
    ("how", "command"),
    [
        (
            "accept",
            (
                "kubectl patch configmap settings -n shop --type json -p "
                """'[{"op":"replace","path":"/data/color","value":"red"}]'"""
            ),
        ),
        (
            "ignore",
            (
                "kubectl annotate configmap settings -n shop --overwrite "
                "roadstead.dev/ignore-drift=/data/color"
            ),
        ),
    ],
)
async def test_what_kubectl_made_is_changed_by_kubectl(tmp_path: Path, how: str, command: str):
    """The refusal has the command that does it."""
    async with running_hub(tmp_path) as hub:
        fleet = await drifted(hub)
        row = await fleet.object("ConfigMap", "settings", "shop")
        assert row is not None
        uid = row.uid
        await hub.write(lambda tx: objects.change(tx, uid, origin=Origin.HUB_CLUSTER))
        refused = await refusal(hub, how)
        assert refused.code == "OwnedElsewhere"
        assert refused.detail.endswith(command)


@pytest.mark.parametrize(
    ("member", "code"),
    [
        ('"<redacted>"', "InvalidState"),
        ('{"env":[{"name":"T","value":"[hidden]"}]}', "InvalidState"),
        ('"' + "x" * 1022 + "…", "InvalidState"),
    ],
    ids=["secret", "secret inside", "cut"],
)
async def test_what_the_hub_was_not_told_whole_is_not_accepted(
    tmp_path: Path, member: str, code: str
):
    """Neither what is secret nor what was cut off; nothing is changed."""
    async with running_hub(tmp_path) as hub:
        fleet = await drifted(hub, ADDED, {**DRIFT, "member": member})
        before = await manifest(fleet)
        assert (await refusal(hub, "accept")).code == code
        assert await manifest(fleet) == before


async def test_a_secret_is_never_accepted(tmp_path: Path):
    """Whatever its member says of it; it may be restored and ignored."""
    async with running_hub(tmp_path) as hub:
        await drifted(
            hub, text=CAREFUL.replace("ConfigMap", "Secret").replace("\ndata:", "\nstringData:")
        )
        what = DriftedObject("m1", "Secret", "shop", "settings")
        assert (await refusal(hub, "accept", what)).code == "InvalidState"
        assert (await settle(hub, "ignore", what))["result"] == "ignore"


async def test_a_job_is_not_applied_again(tmp_path: Path):
    """Nor is anything decided about what has not drifted, or is not there."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("m1")
        uid = await hub.placed("m1")
        await agent.sync()
        entry = ran(uid, active=1)
        entry.drift = seen(uid, "Applied", drift=[DRIFT]).drift
        await agent.sync(entry)
        job = DriftedObject("m1", "Job", "team-a", "one")
        assert (await refusal(hub, "restore", job)).code == "InvalidState"
        assert (await refusal(hub, "restore")).code == "NotFound"
