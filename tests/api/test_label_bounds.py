"""Labels that are too large are refused at every door of REST, with the field and the remedy."""

import copy

import orjson
import pytest

from tests.api.serving import a_job, served

pytestmark = pytest.mark.anyio
LARGE = {f"k{n:05d}": "v" for n in range(60_000)}


def flooded(where: str):
    """A Job with 60,000 labels: its own, its pods', or those of the nodes that it wants."""
    job = copy.deepcopy(a_job())
    template = job["spec"]["template"]
    if where == "own":
        job["metadata"]["labels"] = LARGE
    elif where == "template":
        template["metadata"] = {"labels": LARGE}
    else:
        template["spec"]["nodeSelector"] = LARGE
    return job


FIELDS = {
    "own": "metadata.labels",
    "template": "spec.template.metadata.labels",
    "nodes": "spec.template.spec.nodeSelector",
}


@pytest.mark.parametrize("where", FIELDS)
async def test_a_job_is_refused(tmp_path, where):
    """POST /v1/jobs: 422 LabelsTooLarge."""
    async with served(tmp_path) as it:
        answer = await it.admin.post("/v1/jobs", json=flooded(where))
        assert (answer.status_code, answer.json()["code"]) == (422, "LabelsTooLarge")
        assert [each["field"] for each in answer.json()["errors"]] == [FIELDS[where]]


@pytest.mark.parametrize("where", FIELDS)
@pytest.mark.parametrize("path", ["/v1/jobs:batch", "/v1/apply"])
async def test_an_entry_is_refused(tmp_path, path, where):
    """The entries beside it are taken."""
    async with served(tmp_path) as it:
        body = b"\n".join(orjson.dumps(each) for each in (flooded(where), a_job("beside")))
        answer = await it.admin.post(
            path, content=body, headers={"Content-Type": "application/x-ndjson"}
        )
        refused, taken = answer.json()["items"]
        refusal = refused.get("error") or refused
        assert refusal["code"] == "LabelsTooLarge"
        assert refusal["errors"][0]["field"] == FIELDS[where]
        assert {"error", "code"}.isdisjoint(name for name, each in taken.items() if each)


async def test_a_cluster_is_refused(tmp_path):
    """POST /v1/clusters."""
    async with served(tmp_path) as it:
        answer = await it.admin.post("/v1/clusters", json={"name": "east", "labels": LARGE})
        assert (answer.status_code, answer.json()["code"]) == (422, "LabelsTooLarge")


async def test_a_selector_of_a_query_is_refused(tmp_path):
    """More than a thousand values, within the bound of the address: 422 TooManyTerms."""
    async with served(tmp_path) as it:
        values = ",".join(["v"] * 1001)
        answer = await it.admin.get("/v1/jobs", params={"labelSelector": f"a in ({values})"})
        assert answer.json()["code"] == "TooManyTerms"
