"""The agent's hands: carries one decided step out in the member and says how it ended.

Every write names its precondition: a POST is refused where the name is taken, patches and deletions
carry the uid they mean. A write without an answer is read back before anything is concluded. What
does not carry our labels is never touched.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from agent import drift
from agent.plan import Object, Trouble, epoch_of, owner_of, stamped
from shared import labels
from shared.clock import Clock
from shared.failpoints import failpoint
from shared.kube import errors
from shared.kube.client import KubeClient, Propagation
from shared.wire.agent_v1 import Work

log = structlog.get_logger(__name__)

_READ_BACKS = 3
_READ_BACK_PAUSE_S = 0.2
_WRITE_S = 15.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a step ended. `live`: the object as it now is. `absent`: it is certain that it is not there.

    `unknown`: whether the write took place is not known. `taken_by`: the uid of another work of ours
    that holds the name.
    """

    live: Object | None = None
    absent: bool = False
    unknown: bool = False
    trouble: Trouble | None = None
    taken_by: str = ""


class Applier:
    """Writes to one member cluster as field manager `roadstead`."""

    def __init__(self, client: KubeClient, hub_id: str, clock: Clock) -> None:
        self._client = client
        self._hub_id = hub_id
        self._clock = clock

    # --- Jobs ------------------------------------------------------------------------------------

    async def create(self, work: Work, lease_left_s: float, *, make_namespace: bool) -> Outcome:
        """POST a Job, or adopt the one that an earlier, unanswered POST made.

        The request does not outlive the lease. `make_namespace`: create a missing namespace first.
        """
        manifest = stamped(work, self._hub_id)
        failpoint("A02")
        try:
            live = await self._client.create(
                manifest,
                field_manager=labels.FIELD_MANAGER,
                timeout_s=min(_WRITE_S, max(0.05, lease_left_s)),
            )
        except errors.AlreadyExists:
            return await self._who_is_there(work)
        except errors.NotFound as missing:
            if missing.of_namespace and make_namespace:
                trouble = await self._make_namespace(work.namespace)
                if trouble is not None:
                    return Outcome(trouble=trouble)
                return await self.create(work, lease_left_s, make_namespace=False)
            return Outcome(trouble=_missing(missing))
        except errors.NotSent as silent:
            return Outcome(trouble=Trouble("Unavailable", silent.message))
        except errors.Unavailable as silent:
            failpoint("A04")
            return await self._after_silence(work, silent)
        except errors.KubeError as refusal:
            return Outcome(trouble=refused(refusal))
        failpoint("A03")
        return Outcome(live=live)

    async def _who_is_there(self, work: Work) -> Outcome:
        """The name is taken: by this very work (adopt it), by another of ours, or by a stranger."""
        try:
            live = await self._get(work)
        except errors.NotFound:
            return Outcome(trouble=Trouble("Retrying", "the name has just become free"))
        except errors.Unavailable as silent:
            return Outcome(unknown=True, trouble=Trouble("Unavailable", silent.message))
        except errors.KubeError as refusal:
            return Outcome(trouble=refused(refusal))
        return self._judge(work, live)

    def _judge(self, work: Work, live: Object) -> Outcome:
        owner = owner_of(live, self._hub_id)
        if owner == work.uid:
            return Outcome(live=live)
        if owner is not None:
            text = f"the name is held by {owner} until that is gone"
            return Outcome(trouble=Trouble("NameTaken", text), taken_by=owner)
        return Outcome(trouble=Trouble("NameConflict", _stranger(live)))

    async def _after_silence(self, work: Work, silent: errors.Unavailable) -> Outcome:
        """Read back a write that was not answered (504, timeout, broken connection)."""
        for attempt in range(_READ_BACKS):
            try:
                return self._judge(work, await self._get(work))
            except errors.NotFound:
                break
            except errors.KubeError:
                await self._clock.sleep(_READ_BACK_PAUSE_S * 2**attempt)
        return Outcome(unknown=True, trouble=Trouble("Unavailable", silent.message))

    async def patch_job(self, work: Work, patch: Object) -> Outcome:
        """Merge-patch the changed mutable fields; `metadata.uid` in it is the precondition."""
        try:
            live = await self._client.merge_patch(
                work.api_version,
                work.kind,
                work.namespace,
                work.name,
                patch,
                field_manager=labels.FIELD_MANAGER,
            )
        except errors.NotFound:
            return Outcome(absent=True)
        except errors.KubeError as refusal:
            return Outcome(trouble=refused(refusal))
        return Outcome(live=live)

    # --- both ------------------------------------------------------------------------------------

    async def delete(self, live: Object, propagation: Propagation) -> Outcome:
        """Delete exactly the object with this uid."""
        metadata = live["metadata"]
        try:
            await self._client.delete(
                live["apiVersion"],
                live["kind"],
                metadata.get("namespace") or "",
                metadata["name"],
                uid=metadata["uid"],
                propagation=propagation,
            )
        except (errors.NotFound, errors.Conflict):
            return Outcome(absent=True)  # gone, or the name holds another object by now
        except errors.KubeError as refusal:
            return Outcome(trouble=refused(refusal))
        failpoint("A06")
        return Outcome()

    async def read_back(self, work: Work, known_uid: str) -> Outcome:
        """Look by name. An object of ours whose labels were taken off gets them back."""
        try:
            live = await self._get(work)
        except errors.NotFound:
            return Outcome(absent=True)
        except errors.KubeError as refusal:
            return Outcome(trouble=refused(refusal))
        if owner_of(live, self._hub_id) == work.uid:
            return Outcome(live=live)
        if live["metadata"].get("uid") != known_uid:
            return Outcome(absent=True)
        marks = {
            labels.MANAGED_BY: self._hub_id,
            labels.JOB_UID: work.uid,
            labels.EPOCH: str(work.epoch),
        }
        log.warning("labels.restored", object=f"{work.namespace}/{work.name}", kind=work.kind)
        return await self.patch_job(work, {"metadata": {"uid": known_uid, "labels": marks}})

    # --- other objects ---------------------------------------------------------------------------

    async def apply(
        self,
        work: Work,
        live: Object | None,
        known_uid: str,
        leave: Sequence[drift.Path] = (),
    ) -> Outcome:
        """Server-side apply: over our own object forced and with its uid, else by the take-over rule.

        `leave`: paths that the user told us to leave as they are. `known_uid`: of the object that
        was ours last, should its labels have been taken off.
        """
        manifest = stamped(work, self._hub_id)
        if leave:
            manifest = drift.without(manifest, leave)
        try:
            if live is None:
                outcome, force = await self._may_take(work, known_uid)
                if outcome.trouble is not None:
                    return outcome
                live = outcome.live
            else:
                force = True
            if live is not None:
                uid = live["metadata"]["uid"]
                manifest = {**manifest, "metadata": {**manifest["metadata"], "uid": uid}}
            applied = await self._client.apply(
                manifest, field_manager=labels.FIELD_MANAGER, force=force
            )
        except errors.Conflict as conflict:
            return Outcome(trouble=_conflict(conflict))
        except errors.NotFound as missing:
            return Outcome(trouble=_missing(missing))
        except errors.Unavailable as silent:
            return Outcome(unknown=True, trouble=Trouble("Unavailable", silent.message))
        except errors.KubeError as refusal:
            return Outcome(trouble=refused(refusal))
        return Outcome(live=applied)

    async def _may_take(self, work: Work, known_uid: str) -> tuple[Outcome, bool]:
        """Whether a first apply is allowed, and whether it may force. The outcome has the live object."""
        try:
            live = await self._get(work)
        except errors.KindNotServed:
            raise
        except errors.NotFound:
            return Outcome(), False
        owner = owner_of(live, self._hub_id)
        if owner == work.uid or live["metadata"].get("uid") == known_uid:
            return Outcome(live=live), True
        if owner is not None:
            text = f"the name is held by {owner} until that is gone"
            return Outcome(trouble=Trouble("NameTaken", text), taken_by=owner), False
        if work.when_to_take_over == "Never":
            return Outcome(trouble=Trouble("NameConflict", _stranger(live))), False
        if work.when_to_take_over == "IfNoDiff":
            assert work.manifest is not None
            found = drift.compared(work.manifest, live)
            if found:
                paths = ", ".join(difference.pointer for difference in found[:3])
                text = f"{_stranger(live)}; it differs in {len(found)} fields: {paths}"
                return Outcome(trouble=Trouble("NameConflict", text)), False
        return Outcome(live=live), work.when_to_take_over == "Always"

    async def dry_run(self, work: Work, live: Object) -> Object | None:
        """What a forced apply would make of the live object; None if the server does not say."""
        manifest = stamped(work, self._hub_id)
        manifest["metadata"]["uid"] = live["metadata"]["uid"]
        try:
            return await self._client.apply(
                manifest, field_manager=labels.FIELD_MANAGER, force=True, dry_run=True
            )
        except errors.KubeError:
            return None

    async def explain(self, live: Object) -> tuple[str, str]:
        """The newest Warning Event about an object: why its controller makes no pods of it."""
        metadata = live["metadata"]
        try:
            listing = await self._client.list(
                "v1",
                "Event",
                metadata.get("namespace") or "",
                field_selector=f"involvedObject.uid={metadata['uid']},type=Warning",
            )
        except errors.KubeError:
            return "", ""
        if not listing.items:
            return "", ""
        newest = max(listing.items, key=_last_seen)
        return str(newest.get("reason") or ""), str(newest.get("message") or "")

    async def _make_namespace(self, name: str) -> Trouble | None:
        """Create the namespace a Job was submitted to, as users expect; None if it is there now."""
        namespace = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "labels": {labels.MANAGED_BY: self._hub_id}},
        }
        try:
            await self._client.create(namespace, field_manager=labels.FIELD_MANAGER)
        except errors.AlreadyExists:
            return None
        except errors.Unavailable as silent:
            return Trouble("Unavailable", silent.message)
        except errors.KubeError as refusal:
            return Trouble("NamespaceMissing", refusal.message)
        return None

    async def _get(self, work: Work) -> Object:
        return await self._client.get(work.api_version, work.kind, work.namespace, work.name)


def _last_seen(event: Object) -> str:
    series = event.get("series") or {}
    at = series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime")
    return str(at or "")


def refused(refusal: errors.KubeError) -> Trouble:
    """What a refusal means: not now, not as it is, or not at all."""
    if isinstance(refusal, errors.TooManyRequests):
        return Trouble("Throttled", refusal.message)
    if isinstance(refusal, errors.Unavailable | errors.Unauthorized):
        return Trouble("Unavailable", refusal.message)
    if isinstance(refusal, errors.Invalid):
        return Trouble("Invalid", refusal.message, final=True)
    return Trouble("ApplyFailed", refusal.message)


def _missing(missing: errors.NotFound) -> Trouble:
    if missing.of_namespace:
        return Trouble("NamespaceMissing", missing.message)
    if isinstance(missing, errors.KindNotServed):
        return Trouble("KindNotServed", missing.message)
    return Trouble("Retrying", missing.message)


def _conflict(conflict: errors.Conflict) -> Trouble:
    owned = conflict.owned
    if not owned:
        return Trouble("Retrying", conflict.message)
    managers = ", ".join(sorted({field.manager for field in owned}))
    paths = ", ".join(field.field for field in owned[:3])
    return Trouble("NameConflict", f"{managers} manages {paths} of the object that is there")


def _stranger(live: Object) -> str:
    """Who seems to own an object that is not ours."""
    managed = live["metadata"].get("labels") or {}
    other = managed.get(labels.MANAGED_BY)
    if other:
        return f"an object of this name belongs to another hub ({other}, epoch {epoch_of(live)})"
    managers = [str(entry.get("manager")) for entry in live["metadata"].get("managedFields") or ()]
    by = f", managed by {managers[0]}," if managers else ""
    return f"an object of this name{by} is there that Roadstead did not make"
