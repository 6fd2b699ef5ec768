"""What the audit says of every write, whom a deletion means, and what a filter leaves of a list."""

from typing import Any

import pytest

from tests.api.audited import ASKED, GROUP, filled, trail
from tests.api.serving import a_job, served

pytestmark = pytest.mark.anyio


async def test_every_write_is_told_with_who_did_what_to_what(tmp_path):
    """Once each, in order; what changed nothing, or was refused, is not written down."""
    async with served(tmp_path) as hub:
        uids = await filled(hub)
        since = len(await trail(hub))
        for method, path, body, told in ASKED:
            reply = await hub.admin.request(method, f"/v1/{path.format(**uids)}", json=body)
            assert bool(told) is (reply.status_code < 300) or path == "apply", reply.text
            rows = (await trail(hub))[since:]
            since += len(rows)
            found = [
                (row["principal"], row["verb"], row["object"], row["outcome"]) for row in rows
            ]
            made = found[0][2].rpartition(" ")[2] if found else ""
            assert found == [
                ("the-administrator", verb, what.format(**uids).replace("*", made), outcome)
                for verb, what, outcome in told
            ], (method, path)


@pytest.mark.parametrize(
    "path",
    [
        "jobs/{j}",
        "namespaces/team-a/jobs/k",
        "workloads/team-a/w",
        "clusters/c1",
        f"objects/{GROUP}/ResourceFlavor/f",
        f"objects/{GROUP}/LocalQueue/namespaces/team-a/lq",
    ],
)
async def test_a_deletion_that_means_another_object_deletes_nothing(tmp_path, path):
    """Where the uid that was meant is no longer that of who has the name."""
    async with served(tmp_path) as hub:
        uids = await filled(hub)
        await hub.admin.post("/v1/clusters", json={"name": "c1"})
        place, meant = f"/v1/{path.format(**uids)}", {"preconditions": {"uid": "another"}}
        before = (await hub.admin.get(place)).json()
        refused = await hub.admin.request("DELETE", place, json=meant)
        assert (refused.status_code, refused.json()["code"]) == (409, "PreconditionFailed")
        assert (await hub.admin.get(place)).json() == before


EVENTS = [
    ("namespace=team-a", {"j", "k", "w"}),
    ("namespace=team-b", {"other"}),
    ("kind=Workload", {"w"}),
    ("name=j", {"j"}),
    ("uid={k}", {"k"}),
]
LISTED = [
    ("jobs?namespace=team-b", {"other"}),
    ("jobs?queue=lq", {"j", "k", "w"}),
    ("jobs?state=Held", {"j", "other"}),
    ("jobs?name=ot", {"other"}),
    ("workloads?namespace=team-a&queue=lq&state=Pending", {"k", "w"}),
    ("workloads?clusterQueue=q&namespace=team-a", {"j", "k", "w"}),
    ("workloads?clusterQueue=none", set()),
    (f"objects/{GROUP}/LocalQueue?namespace=team-a", {"lq"}),
    (f"objects/{GROUP}/LocalQueue?namespace=team-c", set()),
]


def whose(item: dict[str, Any]) -> str:
    """The name of a listed job or object, or of the job of a Workload."""
    metadata = item.get("metadata", item)
    owner = next(iter(metadata.get("ownerReferences") or ()), metadata)
    return str(owner["name"])


async def test_every_filter_of_a_list_narrows_it(tmp_path):
    """By the thing that it names, and with others by all of them."""
    async with served(tmp_path) as hub:
        uids = await filled(hub)
        other = await hub.admin.post("/v1/jobs", json=a_job("other", "team-b"))
        for uid in (*uids.values(), other.json()["uid"]):
            assert (await hub.admin.post(f"/v1/jobs/{uid}/hold")).status_code == 200
        for name in ("k", "w"):
            await hub.admin.post(f"/v1/jobs/{uids[name]}/release")
        for query, names in EVENTS:
            asked = await hub.admin.get(f"/v1/events?{query.format(**uids)}")
            about = {
                each["name"]
                for each in asked.json()["items"]
                if each["kind"] in {"Job", "Workload"}
            }
            assert about == names, query
        for query, names in LISTED:
            asked = await hub.admin.get(f"/v1/{query}")
            assert {whose(each) for each in asked.json()["items"]} == names, query
