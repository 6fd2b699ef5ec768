"""CronJobs on a hub: builders, and the turns of their controller driven by hand."""

import datetime as dt
from typing import Any

from hub.controllers.cron_jobs import CronJobs
from hub.store import objects, workloads
from hub.store.records.objects import StoredObject
from hub.store.records.workloads import Workload
from tests.services.hubs import Running
from tests.services.members.hubs import Running as RunningHub

QUEUE = "kueue.x-k8s.io/queue-name"


def a_cron_job(
    name: str = "nightly", schedule: str = "*/10 * * * *", queue: str = "q", **spec: Any
) -> dict[str, Any]:
    """A CronJob of team-a whose Jobs have one pod of 1 cpu; its Job template names the queue."""
    pod = {
        "restartPolicy": "Never",
        "containers": [
            {"name": "main", "image": "ex/a:1", "resources": {"requests": {"cpu": "1"}}}
        ],
    }
    marks = {"metadata": {"labels": {QUEUE: queue}}} if queue else {}
    template = {**marks, "spec": {"template": {"spec": pod}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": name, "namespace": "team-a"},
        "spec": {"schedule": schedule, "jobTemplate": template, **spec},
    }


class Crons:
    """The controller of one hub. `term`: of its lead."""

    def __init__(self, running: Running | RunningHub, term: int = 1) -> None:
        self._running = running
        self.controller = CronJobs(running.hub, lambda: term)
        self.controller.follow()

    async def turn(self) -> None:
        """Turns until nothing is to be decided any more."""
        for _ in range(20):
            if await self.controller.tick() is None:
                return
        raise AssertionError("the controller does not come to rest")

    async def at(self, instant: dt.datetime) -> None:
        """The same at an instant."""
        self._running.clock.advance((instant - self._running.clock.now()).total_seconds())
        await self.turn()

    async def children(self, name: str = "nightly") -> list[Workload]:
        """The Jobs of a CronJob that have their names, by name."""

        def read(tx: Any) -> list[Workload]:
            rows = workloads.read(tx, workloads.select_whole())
            return sorted(
                (r for r in rows if r.live and r.name.startswith(f"{name}-")), key=lambda r: r.name
            )

        return await self._running.hub.read(read)

    async def row(self, name: str = "nightly") -> StoredObject:
        """The CronJob as it is stored."""
        found = await self._running.hub.read(objects.find, "batch", "CronJob", "team-a", name)
        assert found is not None
        return found
