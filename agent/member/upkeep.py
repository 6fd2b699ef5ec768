"""Looks after namespaces that the hub may not use as they are: of an earlier id, and those of mode Report.

A hub's namespace that is deleted and made again does not use what its members still hold of the one before.
The agent deletes such a namespace once it is empty, and creates it again for the next Job.

In mode Report (`ROADSTEAD_AGENT_CONSENT`) namespaces that hold Jobs of the hub when the agent starts continue
without consent, and the log has the command that accepts each.
"""

import datetime as dt
from typing import Final

import structlog

from agent.decide.member_policy import MemberPolicy
from agent.member.acceptance import made_for
from agent.member.namespace_watch import NamespaceWatch
from agent.member.namespaces import delete_if_empty
from agent.member.observer import Observer
from agent.objects.facts import owner_of
from agent.objects.holds import JOB
from shared.clock import Clock
from shared.consent import accept_command
from shared.kube import errors
from shared.kube.client import KubeClient

log = structlog.get_logger(__name__)

LOOK_EVERY_S: Final = 5.0
AGAIN_AFTER: Final = dt.timedelta(minutes=1)
AT_ONCE: Final = 2  # namespaces of one turn: every kind is listed for one look


class NamespaceUpkeep:
    """The two duties, for one member and one hub."""

    def __init__(
        self,
        client: KubeClient,
        watch: NamespaceWatch,
        observer: Observer,
        hub_id: str,
        clock: Clock,
    ) -> None:
        self._client, self._watch, self._observer = client, watch, observer
        self._hub_id, self._clock = hub_id, clock
        self._due: dict[str, dt.datetime] = {}
        self._told: set[str] = set()
        self._stays: dict[str, str] = {}  # why, as last logged

    async def run(self, policy: MemberPolicy) -> None:
        """Look until cancelled."""
        if policy.consent == "Report":
            await self._watch.synced()
            while not self._knows_jobs():
                await self._clock.sleep(LOOK_EVERY_S / 10)
            self._watch.continue_in(self._observer.namespaces_of_jobs())
        while True:
            await self._clock.sleep(LOOK_EVERY_S)
            self._tell()
            if policy.profile != "jobs":
                await self.turn()

    def _knows_jobs(self) -> bool:
        """Are all objects of jobs in view? Of a kind that the account may not read the agent made none."""
        kinds = self._observer.job_kinds()
        return kinds is not None and all(
            self._observer.is_synced(*key) or (key != JOB and self._observer.refused(*key))
            for key in kinds
        )

    async def turn(self) -> None:
        """Delete the empty ones among the namespaces of an earlier id that are due."""
        replaced, now = self._watch.of_state("Replaced"), self._clock.now()
        self._due = {name: self._due.get(name, now) for name in replaced}
        self._stays = {name: why for name, why in self._stays.items() if name in replaced}
        due = sorted((at, name) for name, at in self._due.items() if at <= now)
        for _, name in due[:AT_ONCE]:
            self._due[name] = now + AGAIN_AFTER
            try:
                await self._delete(name, replaced[name])
            except errors.KubeError as refusal:
                log.info("namespace.replaced", namespace=name, error=str(refusal))

    async def _delete(self, name: str, wanted: str) -> None:
        live = await self._client.get("v1", "Namespace", "", name)
        if made_for(live, self._hub_id) in {None, wanted} or owner_of(live, self._hub_id):
            return  # of a placement it goes with that
        why = await delete_if_empty(self._client, live, self._hub_id)
        if not why:
            log.info(
                "namespace.deleted", namespace=name, why="created for an earlier one of the hub"
            )
        elif self._stays.get(name) != why:
            log.warning("namespace.replaced", namespace=name, stays=why)
        self._stays[name] = why

    def _tell(self) -> None:
        """Log each namespace of mode Report once."""
        for name in sorted(self._watch.of_state("Continued").keys() - self._told):
            command = accept_command(f"namespace {name}", self._hub_id)
            log.warning("namespace.not-accepted", namespace=name, continues=True, accept=command)
            self._told.add(name)
