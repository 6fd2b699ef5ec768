"""Permits or refuses the first apply of a work over an object that exists in the member already.

A foreign object needs the consent of the member's people (`agent.member.consent`), whatever the take-over
rule says: without it the answer does not even tell whether the object differs.
"""

from typing import Final, NamedTuple

from agent.decide.decision import Outcome, Trouble
from agent.member.acceptance import Acceptance, made_for
from agent.member.consent import Consent
from agent.objects import drift
from agent.objects.facts import Object, epoch_of, is_created, is_written_by_us, owner_of
from agent.objects.full_comparison import additions
from shared import labels
from shared.consent import NOT_ACCEPTED, replaced
from shared.kube import errors
from shared.kube.client import KubeClient
from shared.wire.agent_v1 import Work

_MOST_OWNERS: Final = 4  # a RayService's pod has three


class Permission(NamedTuple):
    """The live object to apply over (None: create it) or the trouble, and whether the apply may force."""

    outcome: Outcome
    force: bool = False


class TakeOver:
    """Decides by a read past every cache, for one member and one hub."""

    def __init__(self, client: KubeClient, acceptance: Acceptance) -> None:
        self._client = client
        self._hub_id = acceptance.hub_id
        self._consent = Consent(client, acceptance)

    async def permit(self, work: Work, known_uid: str) -> Permission:
        """Judge a first apply. Raises KubeError, save that the object is not there."""
        try:
            live = await self._client.get(work.api_version, work.kind, work.namespace, work.name)
        except errors.KindNotServed:
            raise
        except errors.NotFound:
            return Permission(Outcome())
        owner = owner_of(live, self._hub_id)
        if owner == work.uid or live["metadata"].get("uid") == known_uid:
            return Permission(Outcome(live=live), force=True)
        if owner is not None:
            text = f"the name is held by {owner} until that is gone"
            return Permission(Outcome(trouble=Trouble("NameTaken", text), taken_by=owner))
        if _has_no_work(live, work, self._hub_id):
            return Permission(Outcome(live=live), force=True)  # whatever the take-over rule says
        refusal = await self._refusal(work, live)
        if refusal:
            return Permission(Outcome(trouble=Trouble("NameConflict", refusal)))
        return Permission(Outcome(live=live), force=work.when_to_take_over == "Always")

    async def refuse_update(self, work: Work, live: Object | None) -> Trouble | None:
        """Refuse a write to a cluster-scoped object that was taken over and accepts this hub no longer.

        Namespaced objects are refused by their namespace (`agent.member.namespace_watch`). Raises KubeError.
        """
        if live is None or work.namespace or is_created(live, self._hub_id):
            return None
        if await self._consent.covers(live):
            return None
        command = self._consent.command(work.kind, work.name, work.namespace)
        text = f"{work.kind} {work.name} accepts this hub no longer; its people accept it by: {command}"
        return Trouble(NOT_ACCEPTED, text)

    async def _refusal(self, work: Work, live: Object) -> str:
        """Return the reason to leave a foreign object alone; "" if it may be taken over."""
        hub = _labels(live).get(labels.MANAGED_BY, self._hub_id)
        if work.when_to_take_over == "Never" or hub != self._hub_id:
            return stranger(live, self._hub_id)  # another hub's object stays that hub's
        if not await self._consent.covers(live):
            command = self._consent.command(work.kind, work.name, work.namespace)
            if live["kind"] == "Namespace" and made_for(live, self._hub_id) is not None:
                return f"{replaced(work.name)}, or let this hub take it over: {command}"
            return f"{stranger(live, self._hub_id)}; to let this hub take it over: {command}"
        if maker := await self._maker(live):
            return f"an object of this name is made for {maker} of this hub, and goes with it"
        if work.when_to_take_over == "IfNoDiff" and (found := _differences(work, live)):
            paths = ", ".join(difference.pointer for difference in found[:3])
            return f"{stranger(live, self._hub_id)}; it differs in {len(found)} fields: {paths}"
        return ""

    async def _maker(self, live: Object) -> str:
        """Return kind and name of the object of ours for which an operator made this one; "" for none.

        Children are never taken over, whatever the rules say: they go with their owner. An owner that is
        gone, or that may not be read, has none that it could delete.
        """
        seen = live
        for _ in range(_MOST_OWNERS):
            owners = seen["metadata"].get("ownerReferences") or ()
            owner = next((each for each in owners if each.get("controller")), None)
            if owner is None:
                return ""
            place = live["metadata"].get("namespace") or "", owner["name"]
            try:
                seen = await self._client.get(owner["apiVersion"], owner["kind"], *place)
            except (errors.NotFound, errors.Forbidden):
                return ""
            if seen["metadata"].get("uid") != owner.get("uid"):
                return ""
            if is_written_by_us(seen, self._hub_id):
                return f"{owner['kind']} {owner['name']}"
        return ""


def stranger(live: Object, hub_id: str) -> str:
    """Name the apparent owner of an object that is not ours."""
    managers = [str(entry.get("manager")) for entry in live["metadata"].get("managedFields") or ()]
    by = f", managed by {managers[0]}," if managers else ""
    other = _labels(live).get(labels.MANAGED_BY)
    if other == hub_id:
        mark = f"{labels.MANAGED_BY}={hub_id}"
        return f"an object of this name carries {mark}{by} but was not created by this hub"
    if other:
        return f"an object of this name belongs to another hub ({other}, epoch {epoch_of(live)})"
    return f"an object of this name{by} exists that Roadstead did not create"


def _labels(live: Object) -> Object:
    found: Object = live["metadata"].get("labels") or {}
    return found


def _differences(work: Work, live: Object) -> list[drift.Difference]:
    assert work.manifest is not None
    found = drift.compared(work.manifest, live)
    if work.compare_all:
        found += additions(work.manifest, live, labels.FIELD_MANAGER)
    return found


def _has_no_work(live: Object, work: Work, hub_id: str) -> bool:
    """Ours, and of no work: a namespace that was created for a Job, or kept when its work ended.

    One that was created for another namespace of the hub is taken over by its people's consent alone.
    """
    if live["kind"] != "Namespace" or _labels(live).get(labels.JOB_UID):
        return False
    if work.namespace_id is None:  # the hub does not tell ids
        return is_written_by_us(live, hub_id)
    return made_for(live, hub_id) == work.uid
