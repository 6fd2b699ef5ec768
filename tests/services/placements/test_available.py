"""What members say of whether objects do their work, as a placement's status tells it."""

from pathlib import Path

import pytest

from tests.services.members.hubs import running_hub
from tests.services.placements.fleet import CONFIG, Fleet, conditions

pytestmark = pytest.mark.anyio


async def test_what_is_not_available_is_told_with_the_members_words(tmp_path: Path):
    """In the condition and by resource, until it is; what an agent says of one that is goes nowhere."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        await fleet.apply(CONFIG)
        short = "2 of 3 replicas are available"
        await fleet.sync(reason="ReplicasNotAvailable", message=short, available=False)
        status = await fleet.status("ResourcePlacement", "everywhere", "shop")
        told = conditions(status)
        assert told["ResourcePlacementApplied"][0] == "True"
        assert told["ResourcePlacementAvailable"] == ("False", "ResourceNotAvailableYet")
        (target,) = status["placementStatuses"]
        (available,) = [c for c in target["conditions"] if c["type"] == "Available"]
        assert available["message"].endswith(
            f"not available yet, first ConfigMap settings: {short}"
        )
        (failed,) = target["failedPlacements"]
        assert failed["name"] == "settings"
        assert (failed["condition"]["type"], failed["condition"]["status"]) == (
            "Available",
            "False",
        )
        assert failed["condition"]["reason"] == "ReplicasNotAvailable"
        assert failed["condition"]["message"] == short
        await fleet.sync(reason="Withdrawing", message="being deleted")
        status = await fleet.status("ResourcePlacement", "everywhere", "shop")
        assert conditions(status)["ResourcePlacementAvailable"][0] == "True"
        assert "failedPlacements" not in status["placementStatuses"][0]
