"""Checks the identity of the hub cluster, and whether the bridge may act.

A stop is for an administrator to lift (`questions.hub_cluster`): a cluster restored from an older
copy, or another one behind the same address, would otherwise look like a user who deleted everything.
"""

import contextlib
from collections.abc import Callable
from typing import Final

import structlog

from hub.bridge import protection
from hub.bridge.protection import Protection
from hub.services.context import hub_cluster
from hub.services.context.hub import Hub
from shared.documents import Json
from shared.groups import KUEUE
from shared.kube import errors
from shared.kube.client import KubeClient

log = structlog.get_logger(__name__)
PULSE_S: Final = (
    3.0  # how often the hub cluster is asked whether it answers, and how long it may take
)
_MISSED: Final = 2  # questions without an answer in a row, and it counts as silent
_PASSING: Final = frozenset({"HubClusterChanged", "HubClusterHasKueue"})
_WEBHOOKS: Final = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
_ADMISSION: Final = "admissionregistration.k8s.io/v1"


class BridgeCondition:
    """The bridge's own condition: Running, or stopped for a reason."""

    def __init__(self, hub: Hub, term: Callable[[], int]) -> None:
        self._hub = hub
        self._term = term
        self._versions: dict[str, int] = {}
        self._uid = ""  # of the cluster behind the kubeconfig
        self.lifted = ""  # the stop that an administrator has just lifted, until it is carried out
        self.reason = ""
        self.message = ""
        self.protection = Protection()  # of Jobs, from running there, and of mirrors
        self.jobs_shown = ""  # of those that came by REST: None, All or Some
        self.records_shown = ""  # of placements
        self._silence = (
            ""  # why the hub cluster does not answer; it hinders nobody and ends by itself
        )
        self._missed = 0
        self._starting = False

    @property
    def stopped(self) -> bool:
        return bool(self.reason)

    @property
    def ends_with_its_cause(self) -> bool:
        """Is it stopped for a reason that a look at the hub cluster takes back?"""
        return self.reason in _PASSING

    async def stop(self, reason: str, message: str) -> None:
        """Act no more until an administrator has decided."""
        if self.reason == reason:
            return
        self.reason, self.message = reason, message
        log.error("bridge.stopped", reason=reason, message=message)
        await self._tell()

    def begin(self) -> None:
        """Nothing crosses before the hub's kinds are served: until `begun`, that is what is told."""
        self._starting = True

    async def begun(self) -> None:
        """The hub's kinds are served: what people apply is taken from now on."""
        if self._starting:
            self._starting = False
            await self._tell()

    async def ask(self, client: KubeClient) -> None:
        """Ask the hub cluster for something small: open watches say nothing of one that hangs."""
        try:
            with contextlib.suppress(errors.Unauthorized, errors.Forbidden):  # they are answers
                await client.probe(PULSE_S)
        except errors.KubeError as failure:
            self._missed += 1
            if self._missed >= _MISSED:
                await self.is_silent(f"{failure.reason}: {failure.message}"[:300])
            return
        self._missed = 0
        if self._silence:
            self._silence = ""
            await self._tell()

    async def is_silent(self, why: str) -> None:
        """The hub cluster can not be reached: said until it answers again."""
        if self._silence != why:
            self._silence = why
            await self._tell()

    async def obey(self) -> bool:
        """Go on if an administrator has lifted this stop; False while it stands. Raises StaleTerm."""
        if not self.stopped or not self._term():
            return False
        if not await self._hub.read(hub_cluster.is_lifted):
            return False
        if not await self._hub.write(hub_cluster.take_lift, self._term(), self.reason):
            return False
        if self.reason == "HubClusterChanged":
            await self._hub.write(hub_cluster.adopt_hub_cluster, self._uid)
        log.warning("bridge.lifted", reason=self.reason)
        self._versions.clear()
        self.lifted = self.reason
        self.reason = self.message = ""
        await self._tell()
        return True

    async def check(self, client: KubeClient) -> None:
        """Look at the hub cluster's identity, its webhooks, and what keeps Jobs from running there.

        Raises KubeError without an answer.
        """
        namespace = await client.get("v1", "Namespace", "", "kube-system")
        self._silence, self._missed = "", 0
        uid = self._uid = str(namespace["metadata"]["uid"])
        known = await self._hub.read(hub_cluster.hub_cluster_uid)
        if not known:
            await self._hub.write(hub_cluster.adopt_hub_cluster, uid)
        elif known != uid:
            text = (
                f"the hub belongs to cluster {known}, this one is {uid}: "
                "say whether to adopt it or to forget the old one"
            )
            await self.stop("HubClusterChanged", text)
            return
        if await _has_kueue(client):
            text = "Kueue's own webhooks serve this cluster: it would admit the hub's Jobs as well"
            await self.stop("HubClusterHasKueue", text)
            return
        if self.ends_with_its_cause:
            self.reason = self.message = ""
        await self._look_at_protection(client)
        await self._tell()

    async def _look_at_protection(self, client: KubeClient) -> None:
        before, self.protection = self.protection, await protection.ask(client)
        if before.jobs != self.protection.jobs:
            say = log.info if self.protection.in_force else log.warning
            say("bridge.jobs", protection=self.protection.jobs, message=self.protection.message)
        if before.mirrors != self.protection.mirrors:
            log.info("bridge.mirrors", protection=self.protection.mirrors)

    async def note_version(self, kind: str, resource_version: str) -> None:
        """A complete list of `kind` was read at this version; versions never go back."""
        if not resource_version.isdecimal():
            return
        version = int(resource_version)
        before = self._versions.get(kind, 0)
        if version < before:
            text = (
                f"the resourceVersion of {kind} went from {before} back to {version}: "
                "the hub cluster was restored from an older copy"
            )
            await self.stop("ResourceVersionWentBack", text)
            return
        self._versions[kind] = version

    async def note_shown(self, jobs: str, records: str) -> None:
        """How many of REST's Jobs, and of placements' records, are shown there, each in a word."""
        if (jobs, records) != (self.jobs_shown, self.records_shown):
            self.jobs_shown, self.records_shown = jobs, records
            await self._tell()

    async def _tell(self) -> None:
        reason, message = "Running", ""
        if self.stopped:
            reason, message = self.reason, self.message
        elif self._silence:
            reason, message = hub_cluster.SILENT, self._silence
        elif self._starting:
            reason, message = hub_cluster.STARTING, "the hub's kinds are being installed there"
        condition: Json = {
            "status": "True" if reason == "Running" else "False",
            "reason": reason,
            "message": message,
            "jobs": self.protection.jobs,
            "jobs_message": self.protection.message,
            "jobs_shown": self.jobs_shown,
            "records_shown": self.records_shown,
            "mirrors": self.protection.mirrors,
        }
        await self._hub.write(hub_cluster.tell_condition, condition)


async def _has_kueue(client: KubeClient) -> bool:
    """Do webhooks of Kueue act on Jobs here?"""
    for kind in _WEBHOOKS:
        try:
            listing = await client.list(_ADMISSION, kind)
        except errors.NotFound:
            continue
        for each in listing.items:
            if each["metadata"]["name"].startswith("kueue-") and any(
                "kueue" in str(hook.get("name")) or KUEUE in str(hook.get("rules"))
                for hook in each.get("webhooks") or ()
            ):
                return True
    return False
