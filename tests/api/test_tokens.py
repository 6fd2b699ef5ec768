"""Administrators give people tokens and take them back."""

import httpx
import pytest

from tests.api.serving import served

pytestmark = pytest.mark.anyio


def _as(hub, token):
    return httpx.AsyncClient(
        transport=hub.admin._transport,
        base_url="http://hub",
        headers={"Authorization": f"Bearer {token}"},
    )


async def test_a_viewer_may_look_and_nothing_else(tmp_path):
    """A token issued for a viewer reads, and is refused where something would change."""
    async with served(tmp_path) as hub:
        made = await hub.admin.post("/v1/tokens", json={"role": "viewer", "name": "ana"})
        assert made.status_code == 201
        async with _as(hub, made.json()["token"]) as ana:
            assert (await ana.get("/v1/jobs")).status_code == 200
            assert (await ana.post("/v1/tokens", json={})).status_code == 403


async def test_a_new_token_ends_the_old(tmp_path):
    """A person has one token at a time."""
    async with served(tmp_path) as hub:
        who = {"role": "administrator", "name": "ben"}
        old, new = [(await hub.admin.post("/v1/tokens", json=who)).json() for _ in range(2)]
        async with _as(hub, old["token"]) as before, _as(hub, new["token"]) as now:
            assert (await before.get("/v1/tokens")).status_code == 401
            assert (await now.get("/v1/tokens")).status_code == 200


async def test_a_revoked_token_is_refused_at_once(tmp_path):
    """Whoever is forgotten comes in no more, and is listed no more."""
    async with served(tmp_path) as hub:
        who = {"role": "viewer", "name": "ana"}
        token = (await hub.admin.post("/v1/tokens", json=who)).json()["token"]
        async with _as(hub, token) as ana:
            assert (await ana.get("/v1/jobs")).status_code == 200
            assert (await hub.admin.delete("/v1/tokens/viewer/ana")).status_code == 200
            assert (await ana.get("/v1/jobs")).status_code == 401
        names = [each["name"] for each in (await hub.admin.get("/v1/tokens")).json()["items"]]
        assert "ana" not in names


async def test_the_list_shows_no_token(tmp_path):
    """Secrets are shown once, when they are made; agents are not people."""
    async with served(tmp_path) as hub:
        items = (await hub.admin.get("/v1/tokens")).json()["items"]
        assert {each["role"] for each in items} == {"administrator", "viewer"}
        assert {key for each in items for key in each} == {"role", "name", "createdAt"}


@pytest.mark.parametrize(
    ("asked", "status", "code"),
    [
        ({"role": "agent", "name": "c1"}, 422, "InvalidRole"),
        ({"name": "ana"}, 422, "Required"),
        ({"role": "viewer", "name": "Ana B"}, 422, "InvalidName"),
        ({"role": "viewer"}, 422, "Required"),
        ({"role": "administrator", "name": "admin"}, 403, "Forbidden"),
        ({"role": "viewer", "name": "a", "x": 1}, 422, "UnknownField"),
    ],
)
async def test_what_can_not_be_issued(tmp_path, asked, status, code):
    """People have a role and a name; the hub's own administrator is not given away."""
    async with served(tmp_path) as hub:
        reply = await hub.admin.post("/v1/tokens", json=asked)
        assert (reply.status_code, reply.json()["code"]) == (status, code)


async def test_who_is_not_there_can_not_be_forgotten(tmp_path):
    """404 for strangers, agents too."""
    async with served(tmp_path) as hub:
        for path in ("viewer/nobody", "agent/the-agent"):
            reply = await hub.admin.delete(f"/v1/tokens/{path}")
            assert (reply.status_code, reply.json()["code"]) == (404, "NotFound")
