"""The page of a hub in this process, seen by people with and without a token."""

import contextlib
import html.parser
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import text

from hub.api.app import create_app
from hub.services.access import credentials
from hub.services.context import leadership
from hub.services.context.hub import Hub
from hub.services.scheduling.turn import Scheduler
from hub.store.transaction import Transaction
from hub.web import access, pages
from shared.clock import ManualClock
from tests.api.serving import a_job, served


@dataclass
class ServedPage:
    """A hub with its page; `api` is its REST API, as an administrator uses it."""

    hub: Hub
    clock: ManualClock
    tokens: dict[str, str]
    api: httpx.AsyncClient

    def browser(self) -> httpx.AsyncClient:
        """Somebody who is not signed in."""
        return httpx.AsyncClient(transport=self.api._transport, base_url="http://hub")

    @contextlib.asynccontextmanager
    async def signed_in(self, role: str = "administrator") -> AsyncIterator[httpx.AsyncClient]:
        async with self.browser() as http:
            reply = await http.post("/login", data={"token": self.tokens[role]})
            assert reply.headers["location"] == "/"
            yield http

    async def see(self, path: str = "/") -> "Read":
        """The page, as an administrator sees it a little later."""
        self.clock.advance(6)
        async with self.signed_in() as http:
            reply = await http.get(path)
            assert reply.status_code == 200
            return Read(reply.text)

    async def submit(self, *names: str) -> list[str]:
        """Jobs of team-a; their uids."""
        jobs = [a_job(name) for name in names]
        reply = await self.api.post("/v1/jobs:batch", json=jobs)
        return [each["uid"] for each in reply.json()["items"]]

    async def alter(self, table: str, where: str, **columns: Any) -> None:
        """Write columns as they are, past every check of the hub."""

        def run(tx: Transaction) -> None:
            changes = ", ".join(f"{name} = :{name}" for name in columns)
            tx.conn.execute(text(f"UPDATE {table} SET {changes} WHERE {where}"), columns)

        await self.hub.write(run)

    async def finish(self, *uids: str) -> None:
        """These have succeeded, one after the other."""
        for index, uid in enumerate(uids):
            at = f"2026-03-01 12:00:{index:02}.000000"
            await self.alter("workloads", f"uid = '{uid}'", state="Succeeded", finished_at=at)


async def scheduled(look: ServedPage) -> None:
    """A scheduler that has looked at everything once, with its index beside the page."""
    term = await look.hub.write(leadership.seize, "test")
    scheduler = Scheduler(look.hub, lambda: term)
    await scheduler.load()
    await scheduler.turn()
    look.api._transport.app.state.schedule_index = lambda: scheduler.index  # type: ignore[attr-defined]  # ASGI


@contextlib.asynccontextmanager
async def served_page(folder: Path) -> AsyncIterator[ServedPage]:
    """A fresh hub with its page."""
    async with served(folder) as hub, contextlib.AsyncExitStack() as stack:
        given = {
            role: await hub.hub.write(credentials.issue_bearer, role, f"a-{role}", cluster)
            for role, cluster in (("administrator", ""), ("viewer", ""), ("agent", "c1"))
        }
        api = httpx.AsyncClient(
            transport=httpx.ASGITransport(
                create_app(hub.hub, (pages.router,), pages.nothing_here, access.signed_in)
            ),
            base_url="http://hub",
            headers={"Authorization": f"Bearer {given['administrator']}"},
        )
        yield ServedPage(hub.hub, hub.clock, given, await stack.enter_async_context(api))


class Read(html.parser.HTMLParser):
    """What a browser would make of a page: its elements, their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.page = page
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self._texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self._texts.append(data)

    @property
    def words(self) -> str:
        """Its text with single spaces."""
        return " ".join(" ".join(self._texts).split())

    def values(self, name: str) -> list[str]:
        """Every value of an attribute, in order."""
        return [value or "" for each, value in self.attributes if each == name]

    @property
    def jobs(self) -> list[str]:
        """uids of the rows of jobs, in order."""
        return [each[4:] for each in self.values("id") if each.startswith("job-")]
