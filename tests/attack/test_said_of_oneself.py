"""Who somebody is, and what they may do, is never what a request says of it: in headers or in bodies."""

from collections.abc import Iterator
from typing import get_args

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute

from hub.api.policy import AGENT, PUBLIC, policy_of
from tests.api.people import a_user, bound
from tests.api.serving import a_job, served
from tests.attack import routes

pytestmark = pytest.mark.anyio
# By which proxies, API servers and frameworks are told who somebody is.
HEADERS = {
    "Impersonate-User": "a-administrator",
    "Impersonate-Group": "system:masters",
    "X-Remote-User": "a-administrator",
    "X-Remote-Group": "system:masters",
    "X-Forwarded-User": "a-administrator",
    "X-Forwarded-Email": "a-administrator",
    "X-Auth-Request-User": "a-administrator",
    "Remote-User": "a-administrator",
    "X-Roadstead-Page": "1",
    "X-HTTP-Method-Override": "DELETE",
    "Cookie": "roadstead=a-administrator; role=administrator",
}
MORE = {
    "role": "administrator",
    "roles": ["cluster-administrator"],
    "owner": "a-administrator",
    "principal": "a-administrator",
    "submittedBy": "a-administrator",
    "groups": ["system:masters"],
    "isAdministrator": True,
}


@pytest.mark.parametrize("header", HEADERS)
async def test_a_header_makes_nobody_of_anybody(tmp_path, header):
    """Whoever sends it is who their token says, owns what they submit, and may what their roles allow."""
    async with served(tmp_path) as hub:
        ana = await a_user(hub, "ana")
        await bound(hub, "ana", "submitter", users=["ana"], namespaces=["team-a"])
        ana.headers[header] = HEADERS[header]
        assert (await ana.get("/v1/whoami")).json()["name"] == "ana"
        made = await ana.post("/v1/jobs", json=a_job("hers", namespace="team-a"))
        assert (await ana.get(f"/v1/jobs/{made.json()['uid']}")).json()["owner"] == "ana"
        assert (await ana.get("/v1/audit")).status_code == 403
        other = await hub.admin.post("/v1/jobs", json=a_job("others", namespace="team-a"))
        cancelled = await ana.post(f"/v1/jobs/{other.json()['uid']}/cancel")
        assert cancelled.status_code == 403


async def test_a_body_says_nothing_of_who_one_is(tmp_path):
    """Each route that takes a body of named fields refuses others, of an administrator too.

    Manifests are another matter: test_assigned_fields.py.
    """
    async with served(tmp_path) as hub:
        tried = 0
        for route, fields in taking_bodies(routes.app_of(hub.hub)):
            path = "/".join("x" if "{" in part else part for part in route.path.split("/"))
            for method in route.methods:
                for name in MORE.keys() - fields:
                    reply = await hub.admin.request(method, path, json={name: MORE[name]})
                    told = reply.json()
                    assert reply.status_code == 422, (method, path, name, told)
                    refused = {(each["field"], each["code"]) for each in told["errors"]}
                    assert (name, "UnknownField") in refused or told["code"] == "UnknownField", (
                        told
                    )
                    tried += 1
        assert tried > 60


def taking_bodies(app: FastAPI) -> Iterator[tuple[APIRoute, set[str]]]:
    """Routes of people that take JSON with named fields, and the names."""
    for route in app.routes:
        policy = isinstance(route, APIRoute) and policy_of(route.endpoint)
        if not isinstance(route, APIRoute) or not policy or {PUBLIC, AGENT} & policy:
            continue
        if route.body_field is not None:
            given = route.body_field.field_info.annotation
            kinds = [each for each in (given, *get_args(given)) if hasattr(each, "model_fields")]
            named = (each.model_fields.items() for each in kinds)
            yield route, {field.alias or name for fields in named for name, field in fields}
