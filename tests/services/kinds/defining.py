"""What tests of the definitions of administrators ask and do alike."""

from typing import Any

from hub.domain.workloads.origin import Origin
from hub.services.kinds import declared_kinds
from hub.services.objects.delete import delete_object
from hub.store import kind_versions
from tests.services.hubs import a_queue
from tests.services.kinds.fleet import Fleet
from tests.services.kinds.swarms import SERVED_WITH_SWARMS
from tests.services.members.hubs import Agent


async def started(fleet: Fleet) -> Agent:
    """A member that serves Swarms, and queue q."""
    agent = await fleet.member("m1", kinds=SERVED_WITH_SWARMS)
    await fleet.apply(*a_queue("q", quota={"cpu": "100", "memory": "100Gi"}))
    return agent


async def versions(fleet: Fleet) -> list[tuple[str, bool]]:
    return [(each.key, each.current) for each in await fleet.hub.read(kind_versions.all_known)]


def code_of(applied: Any) -> str:
    assert applied.error is not None, applied.result
    return str(applied.error.code)


async def delete(fleet: Fleet, group: str, kind: str, name: str) -> Any:
    done = await fleet.hub.write(
        delete_object, group, kind, "", name, origin=Origin.REST, principal="ann"
    )
    await declared_kinds.load(fleet.hub.db, fleet.hub.kinds)
    return done
