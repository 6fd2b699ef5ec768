"""Carries one decided step out in the member and says how it ended.

Every write names its precondition: a POST is refused where the name is taken, patches and deletions
carry the uid they mean, deletions and releases the version too. From a write without an answer
nothing is concluded: what there is, is read. An object without our labels is never touched.
"""

from collections.abc import Sequence
from dataclasses import replace

import structlog

from agent.decide.decision import PODS_LEFT, Outcome, Trouble
from agent.decide.member_policy import REFUSED, MemberPolicy, lowered
from agent.member.abandon import Address, Ours, abandon
from agent.member.acceptance import Acceptance
from agent.member.comparison import Compared, compare
from agent.member.made_namespaces import make_for_job
from agent.member.namespaces import delete_namespace
from agent.member.pods_left import KindKey, pods_left
from agent.member.put_back import PutBack, causes_of
from agent.member.refusals import DENIED, conflicting, missing_what, refused
from agent.member.take_over import Permission, TakeOver, stranger
from agent.objects import drift
from agent.objects.facts import Object, is_deleting, is_made_for, owner_of, owners_of
from agent.objects.manifests import stamped_over, unstarted
from agent.objects.replacing import taken_in
from shared import labels
from shared.clock import Clock
from shared.failpoints import failpoint
from shared.kube import errors, served
from shared.kube.client import KubeClient, Propagation
from shared.wire.agent_v1 import Work

log = structlog.get_logger(__name__)

_WRITE_S = 15.0
_DEFAULT = MemberPolicy()
CO_OWNED = "OwnedByOthers"
# No object ever has this version, the largest one. An apply that carries it creates the object if there is
# none, as every apply does, and is refused as stale (409) if one exists by then.
NO_VERSION = str(2**63 - 1)


class Applier:
    """Writes to one member cluster as field manager `roadstead`."""

    def __init__(
        self, client: KubeClient, hub_id: str, clock: Clock, policy: MemberPolicy = _DEFAULT
    ) -> None:
        self._client, self._hub_id, self._clock = client, hub_id, clock
        self._acceptance = Acceptance(hub_id, policy)
        self._take_over = TakeOver(client, self._acceptance)

    # --- Jobs ------------------------------------------------------------------------------------

    async def create(self, work: Work, *, make_namespace: bool, mark: str = "") -> Outcome:
        """POST a job's object that is not started, or adopt the one that an earlier POST made.

        `make_namespace`: create a missing namespace first. `mark`: see `agent.works.marks`.
        """
        failpoint("A02")
        try:
            live = await self._client.create(
                unstarted(work, self._hub_id, mark),
                field_manager=labels.FIELD_MANAGER,
                timeout_s=_WRITE_S,
            )
        except errors.AlreadyExists:
            return await self._who_is_there(work)
        except errors.NotFound as missing:
            if missing.of_namespace and make_namespace:
                trouble = await make_for_job(
                    self._client, self._acceptance, work.namespace, work.namespace_id
                )
                if trouble is not None:
                    return Outcome(trouble=trouble)
                return await self.create(work, make_namespace=False, mark=mark)
            return Outcome(trouble=missing_what(missing))
        except errors.Unavailable as silent:
            failpoint("A04")
            return Outcome(trouble=Trouble("Unavailable", silent.message))
        except errors.KubeError as refusal:
            told = refused(refusal, hopeless=True)
            return Outcome(trouble=told, forbidden=isinstance(refusal, errors.Forbidden))
        failpoint("A03")
        return Outcome(live=live)

    async def start(self, work: Work, patch: Object, lease_left_s: float) -> Outcome:
        """Start the one object that the patch names. The request does not outlive the lease."""
        return await self.patch_job(work, patch, timeout_s=min(_WRITE_S, lease_left_s))

    async def _who_is_there(self, work: Work) -> Outcome:
        """The name is taken: by this very work (adopt it), by another of ours, or by a stranger."""
        try:
            live = await self._get(work)
        except errors.NotFound:
            return Outcome(trouble=Trouble("Retrying", "the name has just become free"))
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
        return Outcome(trouble=Trouble("NameConflict", stranger(live, self._hub_id)))

    async def patch_job(self, work: Work, patch: Object, timeout_s: float = _WRITE_S) -> Outcome:
        """Merge-patch a Job; `metadata.uid` (and resourceVersion) in it are the precondition."""
        try:
            live = await self._client.merge_patch(
                work.api_version,
                work.kind,
                work.namespace,
                work.name,
                patch,
                field_manager=labels.FIELD_MANAGER,
                timeout_s=timeout_s,
            )
        except (errors.NotFound, errors.Conflict) as gone:
            outcome = await self.read_back(work, patch["metadata"]["uid"])
            if outcome.trouble is None and outcome.live is not None:
                return replace(outcome, trouble=Trouble("Retrying", gone.message))
            return outcome
        except errors.KubeError as refusal:
            denied, no_right = refusal.status in DENIED, isinstance(refusal, errors.Forbidden)
            return Outcome(trouble=refused(refusal), refused=denied, forbidden=no_right)
        return Outcome(live=live)

    async def release(self, live: Object, patch: Object) -> Outcome:
        """Take our finalizer off one version of an object."""
        try:
            after = await self._client.merge_patch(
                *_address(live), patch, field_manager=labels.FIELD_MANAGER
            )
        except (errors.NotFound, errors.Conflict):
            return await self._as_it_is(live)
        except errors.KubeError as refusal:
            return Outcome(
                trouble=refused(refusal), forbidden=isinstance(refusal, errors.Forbidden)
            )
        return Outcome(live=after)

    async def count_pods(
        self, namespace: str, job_uid: str, name: str = "", *, parent: KindKey | None = None
    ) -> Outcome:
        """Look for pods of a job past every cache; `podless_at` if there are none but copies'.

        `parent`: the kind of its object, where an operator makes the pods.
        """
        began = self._clock.monotonic()
        try:
            left = await pods_left(self._client, namespace, job_uid, name, parent)
        except errors.KubeError as refusal:
            return Outcome(trouble=refused(refusal))
        return Outcome(trouble=Trouble(PODS_LEFT, left)) if left else Outcome(podless_at=began)

    # --- both ------------------------------------------------------------------------------------

    async def delete(self, live: Object, propagation: Propagation, *, strict: bool) -> Outcome:
        """Delete exactly the object with this uid; `strict`: as it was seen, not a later version."""
        metadata = live["metadata"]
        try:
            last = await self._client.delete(
                *_address(live),
                uid=metadata["uid"],
                resource_version=metadata.get("resourceVersion") if strict else None,
                propagation=propagation,
            )
        except (errors.NotFound, errors.Conflict):
            return await self._as_it_is(live)
        except errors.KubeError as refusal:
            return Outcome(trouble=refused(refusal))
        failpoint("A06")
        return Outcome(live=last)

    async def _as_it_is(self, live: Object) -> Outcome:
        """The present version of an object, or that no object has its uid."""
        began, metadata = self._clock.monotonic(), live["metadata"]
        try:
            now = await served.get(self._client, *_address(live))
        except errors.NotFound:
            return Outcome(absent_at=began)
        except errors.KubeError as refusal:
            return Outcome(trouble=refused(refusal))
        if owner_of(now, self._hub_id) != owner_of(live, self._hub_id):
            return Outcome(absent_at=began)
        if now["metadata"].get("resourceVersion") != metadata.get("resourceVersion"):
            return Outcome(live=now)
        return Outcome(live=now, trouble=Trouble("Retrying", "refused, although unchanged"))

    async def read(self, live: Object) -> Object | None:
        """The whole of a job's object; None where it is not there, or can not be read."""
        metadata = live["metadata"]
        try:
            found = await self._client.get(
                live["apiVersion"], live["kind"], metadata.get("namespace") or "", metadata["name"]
            )
        except errors.KubeError:
            return None
        return found if found["metadata"].get("uid") == metadata.get("uid") else None

    async def read_back(self, work: Work, known_uid: str) -> Outcome:
        """Look by name. An object of ours whose labels were taken off gets them back."""
        began = self._clock.monotonic()
        try:
            live = await self._get(work)
        except errors.NotFound:
            return Outcome(absent_at=began)
        except errors.KubeError as refusal:
            return Outcome(trouble=refused(refusal))
        if owner_of(live, self._hub_id) == work.uid:
            return Outcome(live=live)
        if (uid := live["metadata"].get("uid")) != known_uid and not is_made_for(live, work):
            return Outcome(absent_at=began)
        marks = {
            labels.MANAGED_BY: self._hub_id,
            labels.JOB_UID: work.uid,
            labels.EPOCH: str(work.epoch),
        }
        log.warning("labels.restored", object=f"{work.namespace}/{work.name}", kind=work.kind)
        return await self.patch_job(work, {"metadata": {"uid": uid, "labels": marks}})

    # --- other objects ---------------------------------------------------------------------------

    async def apply(
        self,
        work: Work,
        live: Object | None,
        known_uid: str,
        leave: Sequence[drift.Path] = (),
    ) -> Outcome:
        """Server-side apply: over our own object forced and with its uid, else by the take-over rule.

        A work may say `force` otherwise. Under IfNotDrifted our own object is written over as it was seen.
        `leave`: paths that the user told us to leave as they are. `known_uid`: of the object that
        was ours last, should its labels have been taken off.
        """
        ours = live is not None
        try:
            permission = Permission(Outcome(live=live), force=True)
            if live is None:
                permission = await self._take_over.permit(work, known_uid)
                if permission.outcome.trouble is not None:
                    return permission.outcome
                live = permission.outcome.live
            trouble = _forbidden(work, live)
            trouble = trouble or await self._take_over.refuse_update(work, live if ours else None)
            if trouble is not None:
                return Outcome(trouble=trouble)
            if ours and live is not None and (entries := taken_in(live, labels.FIELD_MANAGER)):
                live = await self._client.merge_patch(
                    *_address(live), entries, field_manager=labels.FIELD_MANAGER
                )
            manifest = self._manifest(work, live, leave)
            if not permission.force:
                manifest = drift.worded_as(manifest, live)
            force = permission.force if work.force is None else work.force
            overwrites = force and (work.restore or work.when_to_apply == "Always")
            putting_back = live if ours and overwrites else None
            applied = await self._write_over(manifest, putting_back, force=force)
        except errors.Conflict as conflict:
            return Outcome(trouble=conflicting(conflict, ours=ours))
        except errors.NotFound as missing:
            return Outcome(trouble=missing_what(missing))
        except errors.Unavailable as silent:
            return Outcome(trouble=Trouble("Unavailable", silent.message))
        except errors.KubeError as refusal:
            return Outcome(trouble=refused(refusal))
        return Outcome(live=applied)

    async def _write_over(self, manifest: Object, ours: Object | None, *, force: bool) -> Object:
        """Apply; over our own object (None: not ours) also if entries of others make it invalid.

        Raises KubeError.
        """
        try:
            return await self._client.apply(
                manifest, field_manager=labels.FIELD_MANAGER, force=force
            )
        except errors.Invalid as refusal:
            if ours is None or not causes_of(refusal):
                raise
            if not await PutBack(self._client, manifest, ours).write():
                raise
        return await self._client.apply(manifest, field_manager=labels.FIELD_MANAGER, force=True)

    def _manifest(self, work: Work, live: Object | None, leave: Sequence[drift.Path]) -> Object:
        """Compose the apply. Without a live object it creates one, or the API server refuses it."""
        manifest = stamped_over(work, self._hub_id, live)
        if leave:
            manifest = drift.without(manifest, leave)
        held = {"resourceVersion": NO_VERSION}
        if live is not None:
            held = _preconditions(work, live, self._hub_id)
        return {**manifest, "metadata": {**manifest["metadata"], **held}}

    async def abandon(self, work: Work, known_uid: str) -> Outcome:
        """Leave the object of a work to the member (`agent.member.abandon`)."""
        at = (work.api_version, work.kind, work.namespace, work.name)
        return await self._abandon(at, Ours(self._hub_id, work.uid, known_uid, work.object_uid))

    async def abandon_orphan(self, live: Object, uid: str) -> Outcome:
        """Leave an object that nothing desires to the member; `uid`: of the work that it was made for."""
        known = live["metadata"].get("uid") or ""
        return await self._abandon(_address(live), Ours(self._hub_id, uid, known))

    async def _abandon(self, at: Address, ours: Ours) -> Outcome:
        return await abandon(self._client, at, ours, self._clock.monotonic())

    async def delete_namespace(self, live: Object, *, may_delete: bool) -> Outcome:
        """Delete a namespace that the agent created, if nothing is in it (`agent.member.namespaces`)."""
        began = self._clock.monotonic()
        return await delete_namespace(
            self._client, live, self._hub_id, began, may_delete=may_delete
        )

    async def compare(self, work: Work) -> Compared:
        """The difference of a work's object (`agent.member.comparison`)."""
        return await compare(self._client, work, self._acceptance)

    async def dry_run(self, work: Work, live: Object) -> Object | None:
        """The result of a forced apply on the live object; None if the server does not say."""
        manifest = stamped_over(work, self._hub_id, live)
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

    async def is_namespace_going(self, name: str) -> bool:
        """True if a namespace is being deleted; False where the API server does not say."""
        try:
            return is_deleting(await self._client.get("v1", "Namespace", "", name))
        except errors.KubeError:
            return False

    async def _get(self, work: Work) -> Object:
        at = (work.api_version, work.kind, work.namespace, work.name)
        return await served.get(self._client, *at)


def _preconditions(work: Work, live: Object, hub_id: str) -> Object:
    """Preconditions on an object when an apply arrives."""
    metadata = live["metadata"]
    held = {"uid": metadata["uid"]}
    if work.when_to_apply == "IfNotDrifted" and owner_of(live, hub_id) == work.uid:
        held["resourceVersion"] = metadata["resourceVersion"]
    return held


def _forbidden(work: Work, live: Object | None) -> Trouble | None:
    """Refuse an apply on account of the live object: its owners, or the level it enforces."""
    owners = [] if live is None else owners_of(live)
    if owners and not work.co_ownership:
        text = f"{', '.join(owners)} owns it too, and allowCoOwnership is not set"
        return Trouble(CO_OWNED, text)
    assert work.manifest is not None
    text = lowered(work.manifest, live)
    return Trouble(REFUSED, text, final=True) if text else None


def _address(live: Object) -> Address:
    """The identity of an object: apiVersion, kind, namespace, name."""
    metadata = live["metadata"]
    return live["apiVersion"], live["kind"], metadata.get("namespace") or "", metadata["name"]


def _last_seen(event: Object) -> str:
    series = event.get("series") or {}
    at = series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime")
    return str(at or "")
