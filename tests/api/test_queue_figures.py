"""A ClusterQueue shows its figures to people whose namespaces it admits, and to roles everywhere."""

from typing import Any

import httpx
import pytest

from tests.api.people import a_user, bound
from tests.api.serving import Served, served
from tests.services.build import in_cohort

pytestmark = pytest.mark.anyio
ROLES = ("batch-administrator", "submitter", "viewer")


def door(namespace: str, queue: str = "theirs") -> dict[str, Any]:
    """A LocalQueue `door` of a namespace that leads to a ClusterQueue."""
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": "door", "namespace": namespace},
        "spec": {"clusterQueue": queue},
    }


def team(name: str, **labels: str) -> dict[str, Any]:
    """A Namespace."""
    metadata = {"name": name, "labels": labels}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


async def fleet(hub: Served, selector: dict[str, Any]) -> None:
    """ClusterQueue `theirs` with that selector; a LocalQueue of team-a leads there."""
    flavor, queue, _ = in_cohort("theirs", "4")
    queue["spec"]["namespaceSelector"] = selector
    for each in (team("team-a"), team("team-b", tier="gold"), flavor, queue):
        assert (await hub.admin.post("/v1/apply", json=each)).status_code == 200


async def seen(client: httpx.AsyncClient) -> tuple[list[str], int]:
    """The ClusterQueues in the list, and the status of the one asked for by name."""
    listed = (await client.get("/v1/queues")).json()["items"]
    one = await client.get("/v1/queues/theirs")
    return [each["name"] for each in listed], one.status_code


@pytest.mark.parametrize("role", ROLES)
async def test_a_local_queue_for_a_foreign_cluster_queue_shows_nothing_of_it(tmp_path, role):
    """It is in no list, and 404 by name; their own LocalQueue is there."""
    async with served(tmp_path) as hub:
        await fleet(hub, {"matchLabels": {"tier": "gold"}})
        await bound(hub, "olga", "batch-administrator", users=["olga"], namespaces=["team-a"])
        olga = await a_user(hub, "olga")
        assert (await olga.post("/v1/apply", json=door("team-a"))).status_code == 200
        await bound(hub, "p", role, users=["p"], namespaces=["team-a"])
        person = await a_user(hub, "p")
        assert await seen(person) == ([], 404)
        own = (await person.get("/v1/queues/team-a/door")).json()
        assert own["clusterQueue"] == "theirs"
        assert "quotas" not in own


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("selector", [{}, {"matchLabels": {"tier": "gold"}}])
async def test_a_queue_that_admits_the_namespace_shows_its_figures(tmp_path, role, selector):
    """With a LocalQueue there."""
    async with served(tmp_path) as hub:
        await fleet(hub, selector)
        await hub.admin.post("/v1/apply", json=door("team-b"))
        await bound(hub, "p", role, users=["p"], namespaces=["team-b"])
        assert await seen(await a_user(hub, "p")) == (["theirs"], 200)


async def test_one_admitted_namespace_is_enough(tmp_path):
    """A person in both namespaces sees the queue, with the LocalQueues of both."""
    async with served(tmp_path) as hub:
        await fleet(hub, {"matchLabels": {"tier": "gold"}})
        for namespace in ("team-a", "team-b"):
            await hub.admin.post("/v1/apply", json=door(namespace))
        await bound(hub, "p", "submitter", users=["p"], namespaces=["team-a", "team-b"])
        assert await seen(await a_user(hub, "p")) == (["theirs"], 200)


@pytest.mark.parametrize("role", ROLES)
async def test_a_role_everywhere_shows_every_queue(tmp_path, role):
    """With or without a LocalQueue that leads there."""
    async with served(tmp_path) as hub:
        await fleet(hub, {"matchLabels": {"tier": "gold"}})
        await bound(hub, "p", role, users=["p"])
        listed, status = await seen(await a_user(hub, "p"))
        assert "theirs" in listed
        assert status == 200
