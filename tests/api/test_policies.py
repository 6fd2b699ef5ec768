"""Every route says who may call it, and nobody else may."""

import pytest
from fastapi.routing import APIRoute
from starlette.routing import Route

from hub.api.app import UndeclaredRoute, check_policies
from hub.api.policy import ADMINISTRATOR, AGENT, PEER, PUBLIC, VIEWER, policy_of
from hub.services.context.settings import Api, Settings
from tests.api.serving import served

pytestmark = pytest.mark.anyio

OPEN = {"/healthz", "/livez", "/readyz", "/openapi.json", "/v1/sign-in"}


def _routes(hub):
    app = hub.admin._transport.app
    return [route for route in app.routes if isinstance(route, APIRoute)]


async def test_only_health_and_the_description_are_open(tmp_path):
    """Every other route demands a credential."""
    async with served(tmp_path) as hub:
        public = {r.path for r in _routes(hub) if PUBLIC in policy_of(r.endpoint)}
        assert public == OPEN


async def test_every_route_refuses_strangers_alike(tmp_path):
    """No credential, or one of the other audience: the same 401 with WWW-Authenticate."""
    async with served(tmp_path, Settings(api=Api(failures_per_s=0))) as hub:
        texts = set()
        for route in _routes(hub):
            policy = policy_of(route.endpoint)
            if PUBLIC in policy:
                continue
            assert len(policy) == 1 or PEER not in policy
            stranger = hub.admin if AGENT in policy else hub.agent
            for method in route.methods:
                for client in (hub.nobody, stranger):
                    reply = await client.request(method, _filled(route.path))
                    assert reply.status_code == 401, (method, route.path)
                    assert reply.headers["www-authenticate"].startswith("Bearer")
                    texts.add(reply.json()["detail"])
        assert len(texts) == 1


async def test_a_viewer_changes_nothing(tmp_path):
    """Routes that write answer 403 to a viewer."""
    async with served(tmp_path) as hub:
        for route in _routes(hub):
            policy = policy_of(route.endpoint)
            for method in route.methods - {"GET", "HEAD"}:
                if ADMINISTRATOR in policy:
                    reply = await hub.viewer.request(method, _filled(route.path))
                    assert (reply.status_code, reply.json()["code"]) == (403, "Forbidden")
                    assert VIEWER not in policy


def test_a_route_without_policy_stops_the_application():
    """The application does not start with an undeclared route."""

    async def endpoint(request):
        return None

    with pytest.raises(UndeclaredRoute, match="/forgotten"):
        check_policies([Route("/forgotten", endpoint)])


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer not-a-token",
        "Basic dXNlcjpwYXNz",
        "Bearer eyJhbGciOiJub25lIn0.e30.",
        "Bearer a.b",
    ],
)
async def test_bad_credentials_are_answered_alike(tmp_path, header):
    """Malformed, of another scheme, unknown: the same answer."""
    async with served(tmp_path) as hub:
        reply = await hub.nobody.get("/v1/jobs", headers={"Authorization": header})
        assert (reply.status_code, reply.json()["code"]) == (401, "Unauthenticated")


async def test_a_revoked_credential_ends_at_once(tmp_path):
    """Revocation is followed through the change feed, not only by the cache's age."""
    from hub.services.access import credentials

    async with served(tmp_path) as hub:
        assert (await hub.viewer.get("/v1/jobs")).status_code == 200
        await hub.db.write(lambda u: credentials.replace_bearer(u, "viewer", "the-viewer"))
        assert (await hub.viewer.get("/v1/jobs")).status_code == 401


def _filled(path: str) -> str:
    import re

    return re.sub(r"\{[^}]*\}", "x", path)
