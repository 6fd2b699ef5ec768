"""Whoever gives rights and takes them back is found out: the audit says to whom, and where."""

import pytest

from tests.api.people import bound
from tests.api.serving import served

pytestmark = pytest.mark.anyio


async def test_a_binding_that_was_there_for_a_moment_is_told(tmp_path):
    """Widened, and narrowed again: each of both, with its users, groups, namespaces and queues."""
    async with served(tmp_path) as hub:
        await bound(hub, "b", "submitter", users=["ana"], namespaces=["team-a"])
        await bound(hub, "b", "batch-administrator", users=["ana", "eve"], groups=["g"])
        await bound(hub, "b", "submitter", users=["ana"], namespaces=["team-a"])
        await hub.admin.delete("/v1/access/bindings/b")
        given = {"name": "eve", "role": "user", "groups": ["h", "g"]}
        await hub.admin.post("/v1/tokens", json=given)
        rows = (await hub.admin.get("/v1/audit")).json()["items"]
        narrow = "RoleBinding b users=ana namespaces=team-a queues=*"
        wide = "RoleBinding b users=ana,eve groups=g namespaces=* queues=*"
        assert [(row["verb"], row["object"]) for row in rows if row["name"] in {"b", "eve"}] == [
            ("issue-token", "user eve groups=g,h"),
            ("unbind", narrow),
            ("bind", narrow),
            ("bind", wide),
            ("bind", narrow),
        ]
