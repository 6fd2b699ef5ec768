"""People see whether the bridge to the hub cluster runs, and lift its stop by naming the reason."""

import pytest

from hub.services.context import hub_cluster, leadership
from tests.api.serving import served

pytestmark = pytest.mark.anyio

STOPPED = {
    "status": "False",
    "reason": "AbsentWithoutDeletion",
    "message": "1 Job (first a/b) are absent",
}


async def test_without_a_hub_cluster_it_says_so(tmp_path):
    """Nothing is connected, and there is nothing to lift."""
    async with served(tmp_path) as hub:
        shown = (await hub.admin.get("/v1/hub-cluster")).json()
        assert (shown["connected"], shown["reason"]) == (False, "")
        answer = await hub.admin.post("/v1/hub-cluster/resume", json={"reason": "X"})
        assert (answer.status_code, answer.json()["code"]) == (409, "BridgeNotStopped")


async def test_a_stop_says_its_reason_and_what_resuming_means(tmp_path):
    """Nobody has to read the hub's log."""
    async with served(tmp_path) as hub:
        await hub.hub.write(hub_cluster.tell_condition, STOPPED)
        shown = (await hub.admin.get("/v1/hub-cluster")).json()
        assert (shown["running"], shown["reason"]) == (False, "AbsentWithoutDeletion")
        assert "count as deleted" in shown["resuming"]


async def test_the_word_is_taken_once_and_for_its_reason(tmp_path):
    """Naming another reason lifts nothing; the word serves one stop."""
    async with served(tmp_path) as hub:
        await hub.hub.write(hub_cluster.tell_condition, STOPPED)
        wrong = await hub.admin.post(
            "/v1/hub-cluster/resume", json={"reason": "HubClusterChanged"}
        )
        assert wrong.json()["code"] == "BridgeNotStopped"
        right = await hub.admin.post(
            "/v1/hub-cluster/resume", json={"reason": "AbsentWithoutDeletion"}
        )
        assert right.status_code == 200
        term = await hub.hub.write(leadership.seize, "test")
        taken = [
            await hub.hub.write(hub_cluster.take_lift, term, "AbsentWithoutDeletion")
            for _ in range(2)
        ]
        assert taken == [True, False]


async def test_a_viewer_may_not_lift(tmp_path):
    """What counts as deleted is an administrator's word."""
    async with served(tmp_path) as hub:
        await hub.hub.write(hub_cluster.tell_condition, STOPPED)
        answer = await hub.viewer.post(
            "/v1/hub-cluster/resume", json={"reason": "AbsentWithoutDeletion"}
        )
        assert answer.status_code == 403


async def test_one_that_does_not_answer_is_not_connected(tmp_path):
    """And the bridge does not run; that ends by itself, so there is nothing to lift."""
    async with served(tmp_path) as hub:
        silent = {"status": "False", "reason": "HubClusterSilent", "message": "no answer"}
        await hub.hub.write(hub_cluster.tell_condition, silent)
        shown = (await hub.admin.get("/v1/hub-cluster")).json()
        assert (shown["connected"], shown["running"]) == (False, False)
        body = {"reason": "HubClusterSilent"}
        answer = await hub.admin.post("/v1/hub-cluster/resume", json=body)
        assert answer.json()["code"] == "BridgeWaits"


async def test_a_stop_that_ends_by_itself_can_not_be_lifted(tmp_path):
    """Kueue's webhooks would go on admitting the hub's Jobs: they have to go."""
    async with served(tmp_path) as hub:
        await hub.hub.write(
            hub_cluster.tell_condition, {**STOPPED, "reason": "HubClusterHasKueue"}
        )
        answer = await hub.admin.post(
            "/v1/hub-cluster/resume", json={"reason": "HubClusterHasKueue"}
        )
        assert (answer.status_code, answer.json()["code"]) == (409, "BridgeWaits")
