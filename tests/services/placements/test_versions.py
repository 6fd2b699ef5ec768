"""An object that is edited in another version of its kind: what is announced is what is sent."""

from pathlib import Path

import pytest
import yaml

from hub.domain.workloads.origin import Origin
from hub.services.context.settings import Intake
from hub.services.objects.apply import apply_documents
from hub.services.reading.draft import draft
from hub.store.transaction import Transaction
from shared.kinds import parse
from tests.services.members.hubs import running_hub
from tests.services.placements.fleet import GUIDE, Fleet

pytestmark = pytest.mark.anyio


async def test_an_edit_in_another_version_is_announced_in_it(tmp_path: Path):
    """Until its placement has followed it is what was given: a member refuses another object's manifest."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.start(hub, "m1")
        for number in range(1, 6):
            (file,) = GUIDE.glob(f"*{number}-*.yaml")
            await fleet.apply(file.read_text())
        await fleet.sync()
        (file,) = GUIDE.glob("*1-*.yaml")
        edited = yaml.safe_load(file.read_text())
        assert edited["apiVersion"] == "kueue.x-k8s.io/v1beta1"
        edited["apiVersion"] = "kueue.x-k8s.io/v1beta2"
        edited["metadata"]["labels"] = {"edited": "yes"}

        def edit(tx: Transaction) -> None:
            given = draft(parse(edited), tx.now, origin=Origin.REST)
            (applied,) = apply_documents(tx, [given], Intake())
            assert applied.error is None

        await hub.write(edit)
        await hub.settled()
        agent = fleet.agents["m1"]
        agent.restart("session-m1-2")
        await agent.sync()
        for edits in (None, "yes"):
            (work,) = [each for each in agent.works.values() if each["kind"] == "ResourceFlavor"]
            manifest = work["manifest"]
            assert manifest["metadata"]["labels"].get("edited") == edits
            assert (work["api_version"], work["kind"]) == (
                manifest["apiVersion"],
                "ResourceFlavor",
            )
            await fleet.turn()
            await agent.sync()
