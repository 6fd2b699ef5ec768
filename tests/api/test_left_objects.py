"""Decisions about objects that the hub has no work for, by REST: permissions, refusals, the audit."""

import pytest

from hub.services.leftovers import left_objects
from hub.store import clusters
from roadstead.models.hub import DecidedObjects, Restored
from shared.wire.agent_v1 import Observed
from tests.api.serving import served
from tests.store.build import a_member

pytestmark = pytest.mark.anyio
MEMBERS = {"north": 7, "south": 6}  # the protocol of each agent


def an_entry(number: int) -> Observed:
    left = {"api_version": "v1", "kind": "ConfigMap", "namespace": "team-a", "name": f"c-{number}"}
    told = {"uid": f"o-{number}", "object_uid": f"m-{number}", "left": {**left, "created": True}}
    more = {"epoch": 0, "generation": 1, "seq": 1, "phase": "Applied"}
    return Observed.model_validate({**told, **more})


def fill(tx):
    for number, (name, protocol) in enumerate(MEMBERS.items()):
        clusters.add(tx, a_member(name))
        clusters.change(tx, name, agent={"protocol": protocol})
        left_objects.note(tx, name, [an_entry(number)])


async def test_a_decision_says_what_becomes_of_each_object_and_is_written_down(tmp_path):
    """Records of the client read the answer; a member whose agent is older is named beside it."""
    async with served(tmp_path) as hub:
        await hub.hub.write(fill)
        asked = {"namespace": "team-a"}
        answer = await hub.admin.post("/v1/restored:remove", json={**asked, "dryRun": True})
        told = DecidedObjects.of(answer.json())
        assert (told.carried_out, told.count, [each.cluster for each in told.refused]) == (
            False, 1, ["south"],
        )  # fmt: skip
        assert [each.fate for each in told.members[0].objects] == ["Deleted"]
        answer = await hub.admin.post("/v1/restored:abandon", json=asked)
        assert DecidedObjects.of(answer.json()).carried_out
        left = Restored.of((await hub.admin.get("/v1/restored")).json()).objects
        assert [(each.cluster, each.decided) for each in left] == [
            ("north", "Abandon"), ("south", ""),
        ]  # fmt: skip
        (entry,) = (await hub.admin.get("/v1/audit")).json()["items"]
        assert (entry["verb"], entry["namespace"], entry["name"]) == ("abandon", "team-a", "c-0")


@pytest.mark.parametrize(
    ("asked", "status", "code"),
    [
        ({}, 422, "Required"),
        ({"cluster": "west"}, 404, "NotFound"),
        ({"cluster": "south"}, 422, "InvalidState"),
        ({"objectUID": "m-0"}, 422, "UnknownField"),
    ],
)
async def test_what_cannot_be_decided_is_refused(tmp_path, asked, status, code):
    """With a code and the remedy; nothing is decided."""
    async with served(tmp_path) as hub:
        await hub.hub.write(fill)
        answer = await hub.admin.post("/v1/restored:remove", json=asked)
        assert (answer.status_code, answer.json()["code"]) == (status, code)
        assert (await hub.admin.get("/v1/audit")).json()["items"] == []
