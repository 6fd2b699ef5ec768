"""How a stop begins, whose word lifts it, and by what it ends by itself."""

from pathlib import Path
from typing import Any

import pytest

from hub.bridge.condition import BridgeCondition
from hub.services.context import hub_cluster, leadership
from hub.store import settings
from shared import labels
from shared.groups import KUEUE
from shared.kube import errors
from tests.services.members.hubs import Running, running_hub

pytestmark = pytest.mark.anyio
HOOKS = [{"name": "vjob.kb.io", "rules": [{"apiGroups": [KUEUE]}]}]
THEIRS = {"metadata": {"name": "kueue-webhooks"}, "webhooks": HOOKS}


class Server:
    """An API server: who it is, which webhooks it has (None: the kind is not served), if it answers."""

    def __init__(self) -> None:
        self.uid = "cluster-1"
        self.webhooks: dict[str, Any] = {}
        self.answers = True

    async def get(self, *_address: str) -> dict[str, Any]:
        return {"metadata": {"uid": self.uid}}

    async def list(self, _version: str, kind: str) -> Any:
        items = self.webhooks.get(kind, [])
        if items is None:
            raise errors.NotFound(404, "NotFound", kind)
        return Listing(items)

    async def create(self, _obj: Any, **_options: Any) -> dict[str, Any]:
        return {"spec": {"managedBy": labels.JOB_CONTROLLER}}

    async def probe(self, _timeout_s: float) -> None:
        if not self.answers:
            raise errors.Unavailable(0, "TimedOut", "no answer")


class Listing:
    def __init__(self, items: Any) -> None:
        self.items = items


async def shown(hub: Running) -> tuple[str, str, bool]:
    told = await hub.hub.read(hub_cluster.show)
    return told["reason"], told["message"], told["running"]


@pytest.mark.parametrize(
    ("validating", "mutating", "stops"),
    [
        ([], [], False),
        ([THEIRS], [], True),
        ([], [THEIRS], True),
        (None, [THEIRS], True),
        ([THEIRS], None, True),
        ([{"metadata": {"name": "kueue-empty"}}], [], False),
    ],
    ids=str,
)
async def test_kueue_is_looked_for_among_both_kinds_of_webhooks(
    tmp_path: Path, validating: Any, mutating: Any, stops: bool
):
    """One kind may not be served; webhooks that have gone end the stop, and that is told."""
    async with running_hub(tmp_path) as hub:
        server: Any = Server()
        server.webhooks = {
            "ValidatingWebhookConfiguration": validating,
            "MutatingWebhookConfiguration": mutating,
        }
        condition = BridgeCondition(hub.hub, lambda: 1)
        await condition.check(server)
        reason, message, running = await shown(hub)
        assert (reason, running) == (("HubClusterHasKueue", False) if stops else ("Running", True))
        assert ("Kueue's own webhooks" in message) is stops
        server.webhooks = {}
        await condition.check(server)
        assert not condition.stopped
        assert await shown(hub) == ("Running", "", True)


async def test_another_cluster_is_named_and_not_adopted(tmp_path: Path):
    """Both identities stand in the question; the hub keeps its own until somebody has decided."""
    async with running_hub(tmp_path) as hub:
        server: Any = Server()
        condition = BridgeCondition(hub.hub, lambda: 1)
        await condition.check(server)
        server.uid = "cluster-2"
        await condition.check(server)
        reason, message, running = await shown(hub)
        assert (reason, running) == ("HubClusterChanged", False)
        assert "belongs to cluster cluster-1, this one is cluster-2" in message
        assert await hub.hub.read(hub_cluster.hub_cluster_uid) == "cluster-1"


@pytest.mark.parametrize(
    ("word", "leads", "lifted"),
    [
        ("TooManyDeletions", True, True),
        ("AbsentWithoutDeletion", True, False),
        (None, True, False),
        ("TooManyDeletions", False, False),
    ],
)
async def test_whose_word_lifts_a_stop(
    tmp_path: Path, word: str | None, leads: bool, lifted: bool
):
    """An administrator's, for this reason, heard by who leads; it is used up by being heard."""
    async with running_hub(tmp_path) as hub:
        server: Any = Server()
        term = await hub.write(leadership.seize, "test")
        condition = BridgeCondition(hub.hub, lambda: term if leads else 0)
        await condition.check(server)
        await condition.stop("TooManyDeletions", "9 of 10")
        if word is not None:
            await hub.write(lambda tx: settings.put(tx, hub_cluster.LIFT, word))
        assert await condition.obey() is lifted
        assert condition.stopped is not lifted
        assert condition.lifted == ("TooManyDeletions" if lifted else "")
        stands = ("Running", "", True) if lifted else ("TooManyDeletions", "9 of 10", False)
        assert await shown(hub) == stands
        assert await hub.hub.read(hub_cluster.is_lifted) is (word is not None and not leads)
        assert await hub.hub.read(hub_cluster.hub_cluster_uid) == "cluster-1"


async def test_a_bridge_that_is_not_stopped_uses_up_no_word(tmp_path: Path):
    """It was said for another stop, of another process."""
    async with running_hub(tmp_path) as hub:
        term = await hub.write(leadership.seize, "test")
        condition = BridgeCondition(hub.hub, lambda: term)
        await hub.write(lambda tx: settings.put(tx, hub_cluster.LIFT, "TooManyDeletions"))
        assert not await condition.obey()
        assert await hub.hub.read(hub_cluster.is_lifted)


async def test_a_connection_that_stands_again_ends_the_silence(tmp_path: Path):
    """Without another question; what it was silent for is told while it is."""
    async with running_hub(tmp_path) as hub:
        server: Any = Server()
        condition = BridgeCondition(hub.hub, lambda: 1)
        await condition.check(server)
        await condition.is_silent("no route")
        assert await shown(hub) == ("HubClusterSilent", "no route", False)
        await condition.is_silent("TimedOut: no answer")
        assert (await shown(hub))[1] == "TimedOut: no answer"
        assert not condition.stopped
        await condition.check(server)
        assert await shown(hub) == ("Running", "", True)


async def test_a_silent_hub_cluster_that_was_restored_says_so_when_it_answers(tmp_path: Path):
    """A stop in a silence is told at once, and stays when the silence ends."""
    async with running_hub(tmp_path) as hub:
        server: Any = Server()
        condition = BridgeCondition(hub.hub, lambda: 1)
        await condition.is_silent("no route")
        await condition.note_version("v1/Job", "50")
        await condition.note_version("v1/Job", "49")
        reason, message, _ = await shown(hub)
        assert reason == "ResourceVersionWentBack"
        assert "v1/Job went from 50 back to 49" in message
        await condition.ask(server)
        assert (await shown(hub))[0] == "ResourceVersionWentBack"
        await condition.note_version("v1/Job", "49")
        assert condition.stopped


async def test_nothing_is_taken_before_the_hubs_kinds_are_served(tmp_path: Path):
    """Until then what people apply there is refused: the bridge does not say that it runs."""
    async with running_hub(tmp_path) as hub:
        server: Any = Server()
        condition = BridgeCondition(hub.hub, lambda: 1)
        condition.begin()
        await condition.check(server)
        assert (await shown(hub))[::2] == ("HubClusterStarting", False)
        await condition.is_silent("no route")
        assert (await shown(hub))[::2] == ("HubClusterSilent", False)
        await condition.check(server)
        assert (await shown(hub))[::2] == ("HubClusterStarting", False)
        await condition.begun()
        assert await shown(hub) == ("Running", "", True)
        await condition.check(server)  # another connection finds them there
        assert await shown(hub) == ("Running", "", True)
