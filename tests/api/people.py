"""Fixtures of people: users with tokens, and roles bound to them."""

from collections.abc import Sequence
from typing import Any

import httpx

from hub.services.access import people
from tests.api.serving import Served


async def a_user(hub: Served, name: str, groups: Sequence[str] = ()) -> httpx.AsyncClient:
    """A client with a user's token; whoever uses it closes it, or not: it holds no socket."""
    made = await hub.db.write(lambda tx: people.issue(tx, "user", name, "test", groups))
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(hub.app),
        base_url="http://hub",
        headers={"Authorization": f"Bearer {made['token']}"},
        event_hooks=hub.admin.event_hooks,
    )


async def bound(hub: Served, name: str, role: str, **given: Any) -> None:
    """Bind a role; users=, groups=, namespaces=, queues=."""
    reply = await hub.admin.put(f"/v1/access/bindings/{name}", json={"role": role, **given})
    assert reply.status_code == 200, reply.text
