"""All routes with who may call them, as routes.txt has them; `python -m tests.attack.routes` writes it."""

import asyncio
import tempfile
from pathlib import Path
from typing import Final

from fastapi import FastAPI
from fastapi.routing import APIRoute

from hub.api import agents
from hub.api.app import create_app
from hub.api.policy import policy_of
from hub.services.context.hub import Hub
from hub.web import pages
from tests.api.serving import served
from tests.house.sources import REPOSITORY

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


def told(app: FastAPI) -> str:
    """The file's text."""
    return "".join(f"{path}  {method}  {who}\n" for path, method, who in routes_of(app))


async def _write() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with served(Path(folder)) as hub:
            FILE.write_text(told(app_of(hub.hub)))


if __name__ == "__main__":
    asyncio.run(_write())
