"""All routes with who may call them, as routes.txt has them; `python -m tests.attack.routes` writes it.

After the roles of tokens stand, in brackets, those that let a user in who has them in one namespace.
"""

import asyncio
import tempfile
from pathlib import Path
from typing import Final

from fastapi import FastAPI
from fastapi.routing import APIRoute

from hub.api import agents
from hub.api.app import create_app
from hub.api.policy import AGENT, PEER, PUBLIC, USER, needs_of, policy_of
from hub.domain.access import Area, Grant, Rights, Role
from hub.services.context.hub import Hub
from hub.web import pages
from tests.api.serving import served
from tests.house.sources import REPOSITORY

# A cluster administrator is one everywhere or not at all.
ROLES_OF_NAMESPACES: Final = (Role.VIEWER, Role.SUBMITTER, Role.BATCH_ADMINISTRATOR)
FILE: Final = REPOSITORY / "tests" / "attack" / "routes.txt"


def app_of(hub: Hub) -> FastAPI:
    """The application with everything that it serves."""
    return create_app(hub, (agents.router, pages.router))


def routes_of(app: FastAPI) -> list[tuple[str, str, str]]:
    """Every path and method, with who may call it."""
    return sorted(
        (route.path, method, " ".join(sorted(policy_of(route.endpoint) or ())))
        for route in app.routes
        if isinstance(route, APIRoute)
        for method in route.methods
    )


def bound_of(endpoint: object) -> list[Role]:
    """The roles with which a user who is bound to one namespace is let in, by the rules alone."""
    policy, needs = policy_of(endpoint) or frozenset(), needs_of(endpoint)
    if policy & {PUBLIC, AGENT, PEER}:
        return []
    if USER in policy:
        return list(Role)
    area = Area(frozenset({"n"}))
    rights = {role: Rights("p", (Grant(role, area),)) for role in ROLES_OF_NAMESPACES}
    return [role for role, held in rights.items() if needs and held.scope(*needs).may]


def told(app: FastAPI) -> str:
    """The file's text."""
    lines = []
    for path, method, who in routes_of(app):
        endpoint = endpoint_of(app, path, method)
        bound = " ".join(bound_of(endpoint))
        lines.append(f"{path}  {method}  {who}" + f"  [{bound}]" * bool(bound) + "\n")
    return "".join(lines)


def endpoint_of(app: FastAPI, path: str, method: str) -> object:
    """What answers there."""
    return next(
        route.endpoint
        for route in app.routes
        if isinstance(route, APIRoute) and route.path == path and method in route.methods
    )


async def _write() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with served(Path(folder)) as hub:
            FILE.write_text(told(app_of(hub.hub)))


if __name__ == "__main__":
    asyncio.run(_write())
