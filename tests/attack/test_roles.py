"""Who is let in where with which role: every route by every role, as routes.txt has it."""

import httpx
import pytest

from hub.api.policy import AGENT, PEER, PUBLIC, USER, VIEWER
from hub.services.context.settings import Api, Settings
from tests.api.people import a_user, bound
from tests.api.serving import served
from tests.attack import routes

pytestmark = pytest.mark.anyio
WIDE = Settings(api=Api(failures_per_s=0, reads_per_s=0, writes_per_s=0, streams_per_s=0))
# They go on until their reader goes.
STREAMS = {"/v1/changes", "/v1/workloads:watch"}


async def test_every_route_by_every_role(tmp_path):
    """403 exactly where the role, bound to one namespace, does not let in; without a role everywhere."""
    async with served(tmp_path, WIDE) as hub:
        app = routes.app_of(hub.hub)
        people: dict[str, httpx.AsyncClient] = {"": await a_user(hub, "nobody")}
        for role in routes.ROLES_OF_NAMESPACES:
            people[role] = await a_user(hub, role)
            await bound(hub, role, role, users=[role], namespaces=["n"])
        tried = 0
        for path, method, who in routes.routes_of(app):
            known = who.split()
            if {PUBLIC, AGENT, PEER} & set(known):
                continue
            let_in = {*routes.bound_of(routes.endpoint_of(app, path, method))}
            for name, person in people.items():
                expected = name in let_in or USER in known
                if expected and path in STREAMS:
                    continue
                filled = "/".join(
                    "x" if part.startswith("{") else part for part in path.split("/")
                )
                reply = await person.request(method, filled)
                # A document of the body, or the kind in the path, may be refused besides.
                told = reply.json().get("detail", "") if reply.status_code == 403 else ""
                assert ("no role that" in told) is not expected, (name, method, path, told)
                tried += 1
        assert tried > 300


async def test_a_role_everywhere_is_let_in_where_its_token_is(tmp_path):
    """A viewer of all namespaces wherever a viewer's token is; nowhere else."""
    async with served(tmp_path, WIDE) as hub:
        app = routes.app_of(hub.hub)
        seer = await a_user(hub, "seer")
        await bound(hub, "seer", "viewer", users=["seer"])
        for path, method, who in routes.routes_of(app):
            if path in STREAMS or {PUBLIC, AGENT, PEER} & set(who.split()):
                continue
            filled = "/".join("x" if part.startswith("{") else part for part in path.split("/"))
            reply = await seer.request(method, filled)
            let_in = VIEWER in who.split()
            assert (reply.status_code != 403) is let_in, (method, path)
