"""A continue token goes on in the list that gave it: same path, same filters, same caller."""

import pytest

from tests.api.serving import a_job, served

pytestmark = pytest.mark.anyio
FILTERS = {
    "/v1/jobs": ["namespace", "queue", "state=Pending", "cluster", "name", "labelSelector=x=y"],
    "/v1/workloads": ["namespace", "queue", "clusterQueue", "state=Pending", "condition=Admitted"],
    "/v1/events": ["uid", "namespace", "kind", "name"],
    "/v1/objects/core/ConfigMap": ["namespace"],
}
MAPS = [
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"m{n}", "namespace": "team-a"}}
    for n in range(3)
]


@pytest.mark.parametrize("path", FILTERS)
async def test_another_question_is_no_next_page(tmp_path, path):
    """Each filter that is added to the page before, or left out of it, makes it another list."""
    async with served(tmp_path) as hub:
        for n in range(3):
            job = a_job(f"j{n}")
            job["metadata"]["labels"] = {"x": "y"}
            assert (await hub.admin.post("/v1/jobs", json=job)).status_code == 201
        assert (await hub.admin.post("/v1/apply", json=MAPS)).status_code == 200
        first = (await hub.admin.get(path, params={"limit": 1})).json()
        for each in FILTERS[path]:
            name, _, value = each.partition("=")
            narrower = {name: value or "team-a", "limit": 1, "continue": first["continue"]}
            reply = await hub.admin.get(path, params=narrower)
            assert (reply.status_code, reply.json().get("code")) == (400, "BadContinue"), each
        asked = {"limit": 1, "continue": first["continue"]}
        again = (await hub.admin.get(path, params=asked)).json()
        assert again["items"] != first["items"]
        if path == "/v1/jobs":
            found = (await hub.admin.get(path, params={"limit": 1, "labelSelector": "x=y"})).json()
            asked = {"limit": 1, "continue": found["continue"]}
            wider = await hub.admin.get(path, params=asked)
            assert (wider.status_code, wider.json().get("code")) == (400, "BadContinue")
