"""The agent lists everything in a namespace before it deletes it."""

import pytest

from agent.member.namespaces import delete_namespace
from shared import labels
from shared.kube.client import KubeClient
from tests.agent.build import a_namespace
from tests.agent.scripted_hub import HUB_ID

pytestmark = pytest.mark.anyio


class Rediscovering(KubeClient):
    """A client whose discovery another task refreshes between any two lists."""

    async def list(self, *at, **given):
        await self.server_resources(refresh=True)
        return await super().list(*at, **given)


async def test_a_discovery_that_is_refreshed_meanwhile_hides_no_kind(member):
    """A namespace with a Secret of the member's people stays, whatever else reads the discovery."""
    body = a_namespace("shop")
    body["metadata"]["labels"] = dict.fromkeys((labels.MANAGED_BY, labels.CREATED_BY), HUB_ID)
    made = await member.kube.create(body, field_manager=labels.FIELD_MANAGER)
    metadata = {"name": "theirs", "namespace": "shop"}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"a": "b"}}
    await member.kube.create(secret, field_manager="people")
    async with await Rediscovering.connect(member.folder / "kubeconfig") as client:
        told = await delete_namespace(client, made, HUB_ID, 0.0, may_delete=True)
    assert "Secret/theirs" in told.kept
    assert member.cluster.store.get("secrets", "shop", "theirs") is not None
