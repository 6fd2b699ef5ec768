"""A role that is bound everywhere is still that role: nothing of what it does not allow is done by it."""

import pytest

from tests.api.audited import filled
from tests.api.people import a_user, bound
from tests.api.serving import a_job, served

pytestmark = pytest.mark.anyio
OF_THE_FLEET = (
    {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ResourceFlavor",
        "metadata": {"name": "mine"},
    },
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "team-a"}},
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "made"}},
)


async def test_a_submitter_of_all_namespaces_applies_jobs_alone(tmp_path):
    """No kind of the fleet, and nobody else's job."""
    async with served(tmp_path) as hub:
        await filled(hub)
        ana = await a_user(hub, "ana")
        await bound(hub, "ana", "submitter", users=["ana"])
        assert (await ana.post("/v1/apply", json=a_job("own", queue="lq"))).status_code == 200
        for document in OF_THE_FLEET:
            reply = await ana.post("/v1/apply", json=document)
            assert reply.status_code == 403, (document, reply.text)
        others = a_job("k", queue="lq", parallelism=7)
        assert (await ana.post("/v1/apply", json=others)).json()["code"] == "Forbidden"


async def test_a_batch_administrator_of_all_namespaces_handles_queues_alone(tmp_path):
    """Of objects those of queues and quotas, and no others, are applied and deleted."""
    async with served(tmp_path) as hub:
        await filled(hub)
        await hub.admin.post("/v1/apply", json=OF_THE_FLEET[1])
        olga = await a_user(hub, "olga")
        await bound(hub, "olga", "batch-administrator", users=["olga"])
        for document in OF_THE_FLEET[1:]:
            assert (await olga.post("/v1/apply", json=document)).status_code == 403, document
        path = "/v1/objects/core/ConfigMap/namespaces/team-a/c"
        assert (await olga.delete(path)).status_code == 403
        assert (await hub.admin.get(path)).status_code == 200
