"""A queue is stopped as it is stored, whatever later releases would refuse of it."""

import copy
from dataclasses import replace
from pathlib import Path

import pytest

from hub.services.objects.apply import apply_documents
from hub.services.objects.stop_queue import set_stop_policy
from hub.services.reading.draft import draft
from hub.store import objects
from hub.store.transaction import Transaction
from shared.errors import Rejected
from shared.groups import KUEUE as GROUP
from shared.kinds.registry import parse
from tests.services.hubs import KUEUE, Running, running

pytestmark = pytest.mark.anyio
QUEUE = {
    "apiVersion": KUEUE,
    "kind": "ClusterQueue",
    "metadata": {"name": "main"},
    "spec": {
        "resourceGroups": [
            {
                "coveredResources": ["cpu"],
                "flavors": [
                    {"name": "plain", "resources": [{"name": "cpu", "nominalQuota": "5"}]}
                ],
            }
        ],
        "admissionChecksStrategy": {
            "admissionChecks": [{"name": "budget", "onFlavors": ["plain"]}]
        },
    },
}


async def stored(hub: Running, flavor: str) -> None:
    """A hub of an earlier release took this queue, whose check names a flavor that it lacks."""
    parsed = parse(QUEUE)

    def misspelt(spec: dict[str, object]) -> dict[str, object]:
        made = copy.deepcopy(spec)
        made["admissionChecksStrategy"]["admissionChecks"][0]["onFlavors"] = [flavor]  # type: ignore[index]
        return made

    raw = {**QUEUE, "spec": misspelt(parsed.raw["spec"])}
    with pytest.raises(Rejected, match="no flavor"):
        parse(raw)
    earlier = replace(parsed, spec=misspelt(parsed.spec), raw=raw)

    def put(tx: Transaction) -> None:
        apply_documents(tx, [draft(earlier, tx.now)], hub.hub.settings.intake)

    await hub.hub.db.write(put)


async def test_a_queue_that_a_later_rule_refuses_is_stopped_and_resumed(tmp_path: Path) -> None:
    """Only its policy changes; the misspelt name stays for its administrator to correct."""
    async with running(tmp_path) as hub:
        await stored(hub, "plian")
        for policy in ("HoldAndDrain", "None"):
            await hub.hub.write(set_stop_policy, "", "main", policy, hub.hub.settings, "ann")
            row = await hub.hub.read(objects.find, GROUP, "ClusterQueue", "", "main")
            assert row is not None
            assert row.spec is not None
            checks = row.spec["admissionChecksStrategy"]["admissionChecks"]
            assert (row.spec["stopPolicy"], checks[0]["onFlavors"]) == (policy, ["plian"])
            assert row.manifest["spec"]["stopPolicy"] == policy
