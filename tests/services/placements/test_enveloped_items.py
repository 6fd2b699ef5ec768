"""What is drifted, secret or reported of objects that lie in envelopes."""

import datetime as dt
from pathlib import Path

import pytest

from hub.bridge.shown import object_mirror
from hub.services.context.paging import Pager
from hub.services.objects.drift import DriftedObject, settle_drift
from hub.services.questions.objects import get_object
from hub.services.questions.overview import list_drift
from hub.store import objects
from shared.errors import Rejected
from tests.services.members.hubs import running_hub
from tests.services.placements.enveloped import (
    ENVELOPE,
    PLACED,
    PLACEMENT,
    TYPED,
    from_kubectl,
    held,
    started,
)
from tests.services.placements.fleet import FLEET

pytestmark = pytest.mark.anyio

DRIFT = {
    "path": "/data/color",
    "hub": '"blue"',
    "member": '"red"',
    "first_seen": "2026-05-01T00:00:00Z",
}
MAP = DriftedObject("m1", "configmap", "shop", "settings")


async def test_the_drift_of_the_fleet_names_the_envelope(tmp_path: Path):
    """Nobody finds the object itself on the hub: what it lies in is where it is changed."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, ENVELOPE, PLACED)
        await fleet.sync(drift=[DRIFT])
        pager = Pager(
            b"k" * 32, "ann", {}, dt.datetime(2026, 5, 1, tzinfo=dt.UTC), dt.timedelta(1)
        )
        shown = await hub.hub.read(list_drift, pager, None, 10)
        named = {each["kind"]: each["envelope"] for each in shown["items"]}
        assert named["ConfigMap"] == {"namespace": "", **TYPED}


async def test_drift_names_the_envelope_and_is_settled_in_it(tmp_path: Path):
    """Accepted values and ignored paths go into the envelope's manifest."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, ENVELOPE, PLACED)
        await fleet.sync(drift=[DRIFT])
        status = await fleet.status(*PLACEMENT)
        drifted = status["placementStatuses"][0]["driftedPlacements"]
        assert [each["envelope"] for each in drifted] == [TYPED, TYPED]
        intake = hub.hub.settings.intake
        await hub.write(settle_drift, "accept", MAP, "ann", intake)
        await fleet.turn()
        await fleet.sync(drift=[DRIFT])
        assert held(fleet, "settings")["manifest"]["data"] == {"color": "red"}
        await hub.write(settle_drift, "ignore", MAP, "ann", intake)
        await fleet.turn()
        await fleet.sync()
        assert held(fleet, "settings")["ignore_drift"] == ["/data/color"]


@pytest.mark.parametrize(
    ("how", "command"),
    [
        ("accept", '"path":"/data/settings.yaml/data/color","value":"red"'),
        ("ignore", '"value":{"roadstead.dev/ignore-drift":"/data/color"}'),
    ],
)
async def test_drift_of_kubectls_envelope_is_settled_by_kubectl(
    tmp_path: Path, how: str, command: str
):
    """The refusal says how."""
    async with running_hub(tmp_path) as hub:
        fleet = await started(hub, PLACED)
        await from_kubectl(fleet, ENVELOPE)
        await fleet.sync(drift=[DRIFT])
        with pytest.raises(Rejected) as refused:
            await hub.write(settle_drift, how, MAP, "ann", hub.hub.settings.intake)
        assert refused.value.code == "OwnedElsewhere"
        assert "kubectl patch resourceenvelope web -n shop --type json" in refused.value.detail
        assert command in refused.value.detail


async def test_a_secret_in_it_is_kept_as_secrets_are(tmp_path: Path):
    """In clear only in the manifest, which is sealed; whoever reads the envelope sees marks."""
    async with running_hub(tmp_path) as hub:
        secret = (
            "  s: {apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {key: hush}}\n"
        )
        fleet = await started(hub, ENVELOPE + secret, PLACED)
        row = await fleet.hub.hub.read(objects.find, FLEET, "ResourceEnvelope", "shop", "web")
        assert row is not None
        assert "hush" not in str((row.spec, row.status, row.annotations))
        shown_there = object_mirror(row)
        assert "hush" not in str(shown_there)
        assert shown_there["data"]["s"]["stringData"] == {"key": "[hidden]"}
        read = await fleet.hub.hub.read(get_object, FLEET, "ResourceEnvelope", "shop", "web")
        assert "hush" not in str(read)
        assert held(fleet, "s")["manifest"]["stringData"] == {"key": "hush"}


async def test_what_is_reported_of_it_is_told_at_the_placement(tmp_path: Path):
    """There is no object on the hub that could have its status."""
    async with running_hub(tmp_path) as hub:
        one = PLACED.replace(
            "  strategy: {rollingUpdate",
            "  policy: {placementType: PickN, numberOfClusters: 1}\n"
            "  strategy: {reportBackStrategy: {type: Mirror, destination: OriginalResource}, rollingUpdate",
        )
        fleet = await started(hub, ENVELOPE, one)
        await fleet.sync(status={"x": 1})
        told = (await fleet.status(*PLACEMENT))["placementStatuses"][0]["reportedStatuses"]
        assert {each["envelope"]["name"] for each in told} == {"web"}
