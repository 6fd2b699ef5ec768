"""Finds objects of an earlier hub in a member by their marks; hands them to another hub, or drains them.

It runs with the credential of the member's people, not with the agent's. No agent of the earlier hub may run
beside it. Of a Job that is adopted only the label `managed-by` and the incarnation change: its uid, its epoch
and its pods stay, and the fresh hub starts nothing because of it (docs/explain/exactly-once.md, rule 12).
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from agent.decide.decision import NOT_EMPTY, Outcome
from agent.member.acceptance import never_accepts
from agent.member.applier import Applier
from agent.objects.facts import (
    Object,
    epoch_of,
    finished,
    incarnation_of,
    is_created,
    is_namespace,
    is_unstarted,
    is_written_by_us,
    owner_of,
)
from agent.objects.holds import JOB
from shared import labels
from shared.clock import Clock, SystemClock
from shared.kube import errors, release
from shared.kube.client import KubeClient
from shared.kube.discovery import Endpoint

MANAGER: Final = (
    "roadstead-earlier"  # of the fields that are written here: the agent's own are its hub's
)
ENDS_WITHIN_S: Final = 120.0
_LOOK_EVERY_S: Final = 1.0
_NEEDED: Final = frozenset({"list", "patch", "delete"})


class Left(NamedTuple):
    """One object of an earlier hub."""

    hub_id: str
    state: str  # of a Job: Running, Ended, NotStarted; else Created, TakenOver, Copied
    live: Object

    @property
    def place(self) -> str:
        metadata = self.live["metadata"]
        name = "/".join(part for part in (metadata.get("namespace"), metadata["name"]) if part)
        return f"{self.live['kind']} {name}"

    @property
    def is_job(self) -> bool:
        return (self.live["apiVersion"], self.live["kind"]) == JOB

    @property
    def when_adopted(self) -> str:
        """The effect of `adopt`, in words."""
        if self.state == "Copied":
            return _COPIED
        if self.is_job:
            uid = owner_of(self.live, self.hub_id)
            return f"the fresh hub lists it: roadstead admin adopt {uid}, or forget {uid}"
        return "released; the fresh hub may take it over"

    @property
    def when_drained(self) -> str:
        """The effect of `drain`, in words."""
        if self.state == "Copied":
            return _COPIED
        if self.is_job:
            return "its pods end, then it is deleted"
        if self.state == "TakenOver":
            return "released"
        return "deleted if nothing else is in it" if is_namespace(self.live) else "deleted"


_COPIED: Final = "left: no agent wrote these labels"


class EarlierHub:
    """The objects of one earlier hub in a member; `hub_id` "": those of every hub but `to`."""

    def __init__(
        self, client: KubeClient, hub_id: str, to: str = "", clock: Clock | None = None
    ) -> None:
        self._client = client
        self._hub_id, self._to = hub_id, to
        self._clock = clock or SystemClock()

    async def look(self) -> tuple[list[Left], list[str]]:
        """All of them, Jobs first and Namespaces last; and the kinds that could not be listed, with why."""
        selector = f"{labels.MANAGED_BY}={self._hub_id}" if self._hub_id else labels.MANAGED_BY
        discovery = await self._client.server_resources(refresh=True)
        unread = [f"{group} cannot be discovered" for group in sorted(discovery.unanswered)]
        found: list[Left] = []
        done: set[str] = set()
        for endpoint in discovery.values():
            if not endpoint.verbs >= _NEEDED or _is_pod(endpoint):
                continue
            try:
                listing = await self._client.list(
                    endpoint.api_version, endpoint.kind, label_selector=selector
                )
            except errors.KubeError as refusal:
                if refusal.status not in {404, 405}:
                    unread.append(f"{endpoint.kind} in {endpoint.api_version}: {refusal.message}")
                continue
            fresh = [each for each in listing.items if each["metadata"]["uid"] not in done]
            done.update(each["metadata"]["uid"] for each in fresh)
            found += [_left(each) for each in fresh]
        return sorted((each for each in found if each.hub_id != self._to), key=_order), unread

    async def adopt(self, found: Sequence[Left]) -> list[str]:
        """Hand them to the hub `to`; the faults. A second call continues with the rest."""
        faults = []
        for one in found:
            if one.state == "Copied":
                continue
            try:
                if refused := await self._consent(one):
                    faults.append(refused)
                elif one.is_job:
                    await self._relabel(one)
                else:
                    faults += _fault(one, await self._release(one))
            except errors.KubeError as refusal:
                faults.append(f"{one.place}: {refusal.message}")
        return faults

    async def drain(self, found: Sequence[Left]) -> list[str]:
        """End and delete what the earlier hub created, release the rest; the faults."""
        faults = []
        jobs = [one for one in found if one.is_job and one.state != "Copied"]
        for one in jobs:
            faults += _fault(
                one, await self._applier(one).delete(one.live, "Foreground", strict=False)
            )
        faults += await self._until_ended(jobs)
        for one in found:
            if not one.is_job and one.state != "Copied":
                faults += _fault(one, await self._remove(one))
        return faults

    # --- adopting ----------------------------------------------------------------------------------

    async def _relabel(self, one: Left) -> None:
        """Only the label changes: the Job, its epoch and its pods are what they were.

        An incarnation that is not the fresh hub's says that this hub did not give it. A Job that was labelled
        before there were incarnations gets the earlier hub's id.
        """
        metadata = one.live["metadata"]
        patch: Object = {
            "uid": metadata["uid"],
            "labels": {labels.MANAGED_BY: self._to},
            "annotations": {labels.INCARNATION: incarnation_of(one.live) or one.hub_id},
        }
        await self._client.merge_patch(
            *_address(one.live), {"metadata": patch}, field_manager=MANAGER
        )

    async def _consent(self, one: Left) -> str:
        """Label the namespace, or the cluster-scoped object itself, as accepting `to`; or why not."""
        space = one.live["metadata"].get("namespace") or ""
        at = ("v1", "Namespace", "", space) if space else _address(one.live)
        live = await self._client.get(*at)
        name = live["metadata"]["name"]
        accepted = (live["metadata"].get("labels") or {}).get(labels.ACCEPT, "")
        if accepted == self._to:
            return ""
        if is_namespace(live) and never_accepts(name):
            return f"{one.place}: namespace {name} never accepts a hub"
        if accepted not in ("", one.hub_id):
            return f"{one.place}: {live['kind']} {name} accepts hub {accepted}: label it yourself"
        patch: Object = {"uid": live["metadata"]["uid"], "labels": {labels.ACCEPT: self._to}}
        await self._client.merge_patch(*at, {"metadata": patch}, field_manager=MANAGER)
        return ""

    # --- draining ----------------------------------------------------------------------------------

    async def _until_ended(self, jobs: Sequence[Left]) -> list[str]:
        """Take our finalizer off each deleted Job once none of its pods is left."""
        left, until = list(jobs), self._clock.monotonic() + ENDS_WITHIN_S
        faults: list[str] = []
        while left and self._clock.monotonic() < until:
            for one in tuple(left):
                uid = owner_of(one.live, one.hub_id) or ""
                metadata = one.live["metadata"]
                outcome = await self._applier(one).count_pods(
                    metadata.get("namespace") or "", uid, metadata["name"]
                )
                if outcome.podless_at is None:
                    continue
                left.remove(one)
                try:
                    await release.let_go(
                        self._client,
                        _address(one.live),
                        metadata["uid"],
                        labels.MEMBER_FINALIZER,
                        labels.FIELD_MANAGER,
                    )
                except errors.KubeError as refusal:
                    faults.append(f"{one.place}: {refusal.message}")
            if left:
                await self._clock.sleep(_LOOK_EVERY_S)
        return faults + [f"{one.place}: its pods have not ended yet: drain again" for one in left]

    async def _remove(self, one: Left) -> Outcome:
        applier = self._applier(one)
        if one.state == "TakenOver":
            return await self._release(one)
        if not is_namespace(one.live):
            return await applier.delete(one.live, "Background", strict=True)
        until = self._clock.monotonic() + ENDS_WITHIN_S
        while True:
            outcome = await applier.delete_namespace(one.live, may_delete=True)
            waits = outcome.trouble is not None and outcome.trouble.reason == NOT_EMPTY
            if not waits or self._clock.monotonic() >= until:
                return outcome
            await self._clock.sleep(_LOOK_EVERY_S)

    async def _release(self, one: Left) -> Outcome:
        uid = owner_of(one.live, one.hub_id) or ""
        return await self._applier(one).abandon_orphan(one.live, uid)

    def _applier(self, one: Left) -> Applier:
        return Applier(self._client, one.hub_id, self._clock)


def _left(live: Object) -> Left:
    hub_id = live["metadata"]["labels"][labels.MANAGED_BY]
    return Left(hub_id, _state(live, hub_id), live)


def _state(live: Object, hub_id: str) -> str:
    if (live["apiVersion"], live["kind"]) != JOB:
        if not is_written_by_us(live, hub_id):
            return "Copied"
        return "Created" if is_created(live, hub_id) else "TakenOver"
    if not is_written_by_us(live, hub_id) or not epoch_of(live):
        return "Copied"  # its finalizer and environment come along with a copy
    if finished(live) is not None:
        return "Ended"
    return "NotStarted" if is_unstarted(live) else "Running"


def _order(one: Left) -> tuple[int, str]:
    """Jobs first, then what lives in namespaces, cluster-scoped objects, and Namespaces last."""
    if one.is_job:
        return 0, one.place
    if is_namespace(one.live):
        return 3, one.place
    return (1 if one.live["metadata"].get("namespace") else 2), one.place


def _is_pod(endpoint: Endpoint) -> bool:
    """Pods carry the marks of their Job, which decides about them."""
    return (endpoint.api_version, endpoint.kind) == ("v1", "Pod")


def _address(live: Object) -> tuple[str, str, str, str]:
    metadata = live["metadata"]
    return live["apiVersion"], live["kind"], metadata.get("namespace") or "", metadata["name"]


def _fault(one: Left, outcome: Outcome) -> list[str]:
    if outcome.trouble is not None:
        return [f"{one.place}: {outcome.trouble.reason}: {outcome.trouble.message}"]
    return [f"{one.place}: {outcome.kept}"] if outcome.kept else []
