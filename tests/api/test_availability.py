"""Rules of availability: declared by administrators, refused with fields, told to agents."""

import pytest

from shared.kinds.availability_rules import BUILT_IN
from tests.api.serving import served

pytestmark = pytest.mark.anyio
PATH = "/v1/availability-rules"
RULE = {"group": "ray.io", "kind": "RayCluster", "available": "object.status.state == 'ready'"}


async def test_what_is_declared_is_shown_beside_what_is_built_in(tmp_path):
    """Each change has a later revision; the same again is no change; none is declared at first."""
    async with served(tmp_path) as hub:
        before = (await hub.admin.get(PATH)).json()
        assert (before["revision"], before["rules"]) == (0, [])
        of_queues = {
            "available": BUILT_IN["kueue.x-k8s.io", "ClusterQueue"].available,
            "message": "",
        }
        named = {"group": "kueue.x-k8s.io", "kind": "ClusterQueue"}
        assert {**named, **of_queues} in before["builtIn"]
        first = (await hub.admin.put(PATH, json={"rules": [RULE]})).json()
        assert first["rules"] == [{**RULE, "message": ""}]
        assert (await hub.admin.put(PATH, json={"rules": [RULE]})).json() == first
        assert (await hub.admin.get(PATH)).json() == first
        last = (await hub.admin.put(PATH, json={"rules": []})).json()
        assert last["revision"] > first["revision"] > 0


async def test_what_is_no_rule_is_refused_and_changes_nothing(tmp_path):
    """422 with each field and what is wrong there."""
    async with served(tmp_path) as hub:
        kept = (await hub.admin.put(PATH, json={"rules": [RULE]})).json()
        bad = {**RULE, "kind": "Other", "available": "status.ready"}
        answer = await hub.admin.put(PATH, json={"rules": [RULE, bad]})
        assert answer.status_code == 422
        (error,) = answer.json()["errors"]
        assert (error["field"], error["code"]) == ("rules[1].available", "InvalidValue")
        assert "fields begin with object." in error["message"]
        misspelt = await hub.admin.put(PATH, json={"rules": [{**RULE, "expression": "true"}]})
        assert misspelt.status_code == 422
        assert (await hub.admin.get(PATH)).json() == kept


async def test_a_declaration_is_written_down(tmp_path):
    """Who declared, and how many."""
    async with served(tmp_path) as hub:
        await hub.admin.put(PATH, json={"rules": [RULE]})
        (entry,) = (await hub.admin.get("/v1/audit")).json()["items"]
        assert (entry["verb"], entry["object"]) == ("declare", "availability rules (1)")
