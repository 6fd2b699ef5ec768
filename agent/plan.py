"""The nouns of a decision about one work, the facts read from objects, and the rules for plain objects.

Pure. The rules for Jobs stand in `agent.plan_job`; `agent.decide` picks between the two.
"""

import datetime as dt
from dataclasses import dataclass, field
from typing import Any, Literal

from shared import labels
from shared.wire.agent_v1 import Order, Phase, Work

Object = dict[str, Any]

JOB = ("batch/v1", "Job")
# Job fields that its API lets change after creation and that Roadstead keeps as declared. Never
# `suspend` (it starts and stops the Job) and never `ttlSecondsAfterFinished` (withheld).
MUTABLE_JOB_FIELDS = ("parallelism", "activeDeadlineSeconds", "backoffLimit")

Do = Literal[
    "Nothing",
    "Create",  # a Job, not started yet
    "Start",  # the Job with this very uid
    "PatchJob",
    "Delete",
    "Release",  # take our finalizer off
    "Apply",
    "ReadBack",  # look by name, past every cache
    "CountPods",  # look for pods of the job, past every cache
]


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why the last try did not succeed. `final`: trying again would change nothing."""

    reason: str
    message: str = ""
    final: bool = False


@dataclass(slots=True)
class Seen:
    """What the agent knows about one uid in the member, besides the work itself.

    Instants are monotonic seconds and belong to the beginning of a read.
    """

    live: Object | None = None  # the object that carries our labels with this uid
    ever: bool = False  # this epoch's object was there, started, at some time of this session
    started: bool = False  # this session asked for the start of this epoch
    vanished: bool = False  # it went away without our asking: look before concluding
    absent_at: float | None = None  # a read past the caches that began then found nothing
    podless_at: float | None = None  # such a read found no pods
    foreground: str = ""  # uid of the object that was seen waiting for its pods to go
    podless: str = ""  # uid of the deleted object of which a read past the caches found no pods
    acknowledged: str = ""  # uid of the object whose end the hub has stored
    told: str = ""  # uid of the object whose result the hub has stored
    closed: Literal["", "Gone", "Missing"] = ""  # said of this epoch; nothing of it is begun again
    ordered: str = ""  # uid of the object that the hub wants removed though nothing desires it
    left: str = ""  # uid of the object that the hub does not know and leaves to people
    pods: int = 0  # pods of this job that still exist
    trouble: Trouble | None = None
    not_before: float = 0.0  # monotonic instant of the next try
    drifted: bool = False  # a desired path does not hold (see agent.drift)
    make_room: bool = False  # a newer job of the same name needs the place of this ended one

    def order(self, order: Order) -> None:
        """What the hub says of an object that nothing desires."""
        if order.action == "Remove":
            self.ordered = order.object_uid
        else:
            self.left = order.object_uid

    def new_epoch(self, epoch: int) -> None:
        """What was known of an earlier epoch says nothing of this one."""
        live = self.live
        self.ever = live is not None and epoch_of(live) == epoch and not is_unstarted(live)
        self.started = False
        self.closed = ""
        self.absent_at = self.podless_at = None


@dataclass(frozen=True, slots=True)
class Picture:
    """The moment a decision is made in. `now` is monotonic seconds, `wall` UTC."""

    hub_id: str
    now: float
    wall: dt.datetime
    may_start: bool  # the lease is fresh (wire module, LEASE_S)
    settled_at: float | None  # since then no earlier session can start anything; None: not yet
    synced: bool = True  # the cache of this kind has been complete once
    served: bool = True  # the member serves the kind
    wave_open: bool = True  # everything this one waits for is applied or failed


@dataclass(frozen=True, slots=True)
class Decision:
    """One step and what to report meanwhile. `wake_at`: monotonic instant to decide again."""

    phase: Phase
    do: Do = "Nothing"
    reason: str = ""
    message: str = ""
    wake_at: float | None = None
    force: bool = False  # of an Apply
    propagation: Literal["Foreground", "Background"] = "Foreground"
    patch: Object = field(default_factory=dict)
    urgent: bool = True  # somebody waits for it


def troubled(seen: Seen, picture: Picture) -> Decision | None:
    """Failed or waiting on account of the last try, until the next one is due."""
    trouble = seen.trouble
    if trouble is None or (not trouble.final and picture.now >= seen.not_before):
        return None
    waits = trouble.reason in TRANSIENT
    wake = None if trouble.final else seen.not_before
    return Decision(
        "Waiting" if waits else "Failed", "Nothing", trouble.reason, trouble.message, wake
    )


PODS_LEFT = "PodsRemain"
# Reasons that say "not yet", not "no".
TRANSIENT = frozenset({"Unavailable", "Throttled", "NameTaken", "Retrying", PODS_LEFT})


# --- other objects -------------------------------------------------------------------------------


def decide_object(work: Work, seen: Seen, picture: Picture) -> Decision:
    """An object is applied, kept as declared, and deleted when told."""
    live = seen.live
    if not picture.synced:
        return OBSERVING
    if work.action == "Withdraw":
        return _withdraw_object(seen, picture)
    if not picture.served:
        text = f"the cluster does not serve {work.kind} in {work.api_version}"
        return Decision("Failed", reason="KindNotServed", message=text)
    if live is None:
        held = troubled(seen, picture)
        if held is not None:
            return held
        if not picture.wave_open:
            return Decision("Waiting", reason="EarlierWave", message="what it needs comes first")
        return Decision("Waiting", "Apply", reason="Applying")
    if is_deleting(live):
        return Decision("Waiting", reason="Deleting", message="someone deletes the object")
    return _hold_object(work, live, seen, picture)


def _withdraw_object(seen: Seen, picture: Picture) -> Decision:
    """Delete an object and say Gone; a late copy of it is an orphan, which the hub orders away."""
    live = seen.live
    if live is None:
        if picture.settled_at is None:
            return LEASE_WAIT
        return Decision("Gone")
    if is_deleting(live):
        return Decision("Applied", reason="Withdrawing", message="being deleted")
    if picture.now < seen.not_before:
        why = seen.trouble.message if seen.trouble is not None else "being deleted"
        return Decision("Applied", reason="Withdrawing", message=why, wake_at=seen.not_before)
    return Decision("Applied", "Delete", reason="Withdrawing", message="being deleted")


OBSERVING = Decision("Waiting", reason="Observing", message="reading the member's objects")
LEASE_WAIT = Decision("Waiting", reason="LeaseWait", message="an earlier session may still act")


def _hold_object(work: Work, live: Object, seen: Seen, picture: Picture) -> Decision:
    stale = outdated(work, live)
    if stale and seen.drifted and work.when_to_apply == "IfNotDrifted":
        return Decision("Failed", reason="FoundDrifts", message="drifted fields are left alone")
    if not stale and not (seen.drifted and work.when_to_apply == "Always"):
        return Decision("Applied")
    if stale:
        held = troubled(seen, picture)
        if held is not None:
            return held
    elif picture.now < seen.not_before:
        return Decision("Applied", wake_at=seen.not_before)
    return Decision("Waiting" if stale else "Applied", "Apply", force=True)


# --- facts about objects -------------------------------------------------------------------------


def owner_of(obj: Object, hub_id: str) -> str | None:
    """The uid of the work that an object was made for; None: it does not carry our labels."""
    marks = obj["metadata"].get("labels") or {}
    if marks.get(labels.MANAGED_BY) != hub_id:
        return None
    return _fenced(obj, labels.JOB_UID_VARIABLE) or marks.get(labels.JOB_UID) or None


def is_made_for(job: Object, work: Work) -> bool:
    """Whether an agent made a Job for this work, whatever labels it has now: it is held by us."""
    return is_held_by_us(job) and _fenced(job, labels.JOB_UID_VARIABLE) == work.uid


def epoch_of(obj: Object) -> int:
    """The epoch that an object was made for; 0 without one, as of objects that are no Jobs."""
    marks = obj["metadata"].get("labels") or {}
    return number(_fenced(obj, labels.EPOCH_VARIABLE) or marks.get(labels.EPOCH) or "") or 0


_LONGEST = 19  # digits


def number(text: str) -> int | None:
    """A count that stands on an object, where anybody may have written something else."""
    return int(text) if text.isdecimal() and len(text) < _LONGEST else None


def fence_of(obj: Object) -> list[Object]:
    """The environment variables that say which work and epoch a Job's pods are of; [] if none do.

    Labels of a Job are anybody's to edit. Its containers' environment is not: no API server takes a
    change of it, of a Job that is suspended neither.
    """
    if obj.get("kind") != "Job":
        return []
    template = (obj.get("spec") or {}).get("template") or {}
    for container in (template.get("spec") or {}).get("containers") or ():
        found = [one for one in container.get("env") or () if one.get("name") in labels.FENCE]
        if found:
            return found
    return []


def _fenced(obj: Object, variable: str) -> str:
    return next((one.get("value") or "" for one in fence_of(obj) if one["name"] == variable), "")


def generation_of(obj: Object, otherwise: int) -> int:
    """The work generation that was applied last, from its annotation."""
    told = number((obj["metadata"].get("annotations") or {}).get(labels.GENERATION) or "")
    return otherwise if told is None else told


def is_deleting(obj: Object) -> bool:
    return bool(obj["metadata"].get("deletionTimestamp"))


def finalizers_of(obj: Object) -> list[str]:
    return list(obj["metadata"].get("finalizers") or ())


def is_held_by_us(obj: Object) -> bool:
    """Whether our finalizer keeps the object."""
    return labels.MEMBER_FINALIZER in finalizers_of(obj)


def is_unstarted(job: Object) -> bool:
    """Whether a Job was created and never started: it carries our mark and is suspended."""
    marks = job["metadata"].get("annotations") or {}
    return labels.NOT_STARTED in marks and bool((job.get("spec") or {}).get("suspend"))


def finished(job: Object) -> dt.datetime | None:
    """When a Job ended (its Complete or Failed condition turned True), or None."""
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition.get("type") in {"Complete", "Failed"} and condition.get("status") == "True":
            at = (job["status"].get("completionTime")) or condition.get("lastTransitionTime")
            return parse_time(at) or dt.datetime.min.replace(tzinfo=dt.UTC)
    return None


def parse_time(text: str | None) -> dt.datetime | None:
    """An RFC 3339 time as Kubernetes writes it, or None where there is none."""
    if not text:
        return None
    try:
        return dt.datetime.fromisoformat(text)
    except ValueError:
        return None


def outdated(work: Work, live: Object) -> bool:
    """Whether the live object was applied from another manifest than the work's."""
    if work.manifest is None:
        return False
    wanted = work.manifest["metadata"].get("annotations")
    if not wanted:
        return False
    held = live["metadata"].get("annotations") or {}
    return bool(
        wanted.get(labels.SPEC_HASH) != held.get(labels.SPEC_HASH)
        or wanted.get(labels.GENERATION) != held.get(labels.GENERATION)
    )


def stamped(work: Work, hub_id: str) -> Object:
    """The manifest with the marks that say whose it is, where the hub left any out."""
    assert work.manifest is not None
    metadata = dict(work.manifest["metadata"])
    metadata["labels"] = {
        **(metadata.get("labels") or {}),
        labels.MANAGED_BY: hub_id,
        labels.JOB_UID: work.uid,
        labels.EPOCH: str(work.epoch),
    }
    metadata["annotations"] = {
        labels.GENERATION: str(work.generation),
        labels.SPEC_HASH: work.hash,
        **(metadata.get("annotations") or {}),
    }
    return {**work.manifest, "metadata": metadata}


def unstarted(work: Work, hub_id: str, mark: str = "") -> Object:
    """The Job as it is created: suspended, in a queue that does not exist, held by our finalizer.

    Whenever a POST of it may land, however late, nothing starts of it.
    """
    job = stamped(work, hub_id)
    metadata = job["metadata"]
    metadata["labels"][labels.QUEUE_NAME] = labels.NO_QUEUE
    metadata["annotations"][labels.NOT_STARTED] = "true"
    if mark:
        metadata["annotations"][labels.MARK] = mark
    metadata["finalizers"] = [labels.MEMBER_FINALIZER]
    return {**job, "spec": {**(job.get("spec") or {}), "suspend": True}}


def start_patch(work: Work, live: Object) -> Object:
    """The merge patch that starts exactly this object, in its newest size; it dies with the object."""
    assert work.manifest is not None
    wanted = work.manifest
    patch = job_patch(work, live) if outdated(work, live) else {"metadata": {}}
    metadata = patch["metadata"]
    metadata["uid"] = live["metadata"]["uid"]
    metadata["annotations"] = {**metadata.get("annotations", {}), labels.NOT_STARTED: None}
    queue = (wanted["metadata"].get("labels") or {}).get(labels.QUEUE_NAME)
    metadata["labels"] = {**metadata.get("labels", {}), labels.QUEUE_NAME: queue}
    suspend = bool((wanted.get("spec") or {}).get("suspend"))
    patch["spec"] = {**patch.get("spec", {}), "suspend": suspend}
    return patch


def release_patch(live: Object) -> Object:
    """The merge patch that takes our finalizer off this very version of the object."""
    metadata = live["metadata"]
    left = [name for name in finalizers_of(live) if name != labels.MEMBER_FINALIZER]
    mine = {"uid": metadata["uid"], "resourceVersion": metadata.get("resourceVersion")}
    return {"metadata": {**mine, "finalizers": left}}


def job_patch(work: Work, live: Object) -> Object:
    """The merge patch that brings a live Job's changed mutable fields to the manifest's."""
    assert work.manifest is not None
    wanted, held = work.manifest, live
    metadata: Object = {"uid": held["metadata"]["uid"]}
    for part in ("labels", "annotations"):
        have = held["metadata"].get(part) or {}
        want = wanted["metadata"].get(part) or {}
        changed = {key: value for key, value in want.items() if have.get(key) != value}
        if changed:
            metadata[part] = changed
    patch: Object = {"metadata": metadata}
    spec = {
        name: (wanted.get("spec") or {})[name]
        for name in mutable_fields(wanted)
        if name in (wanted.get("spec") or {})
        and (held.get("spec") or {}).get(name) != wanted["spec"][name]
    }
    if spec:
        patch["spec"] = spec
    return patch


def mutable_fields(job: Object) -> tuple[str, ...]:
    """The mutable fields of a Job's spec: `completions` too where Indexed and equal to parallelism."""
    spec = job.get("spec") or {}
    if spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get(
        "parallelism"
    ):
        return (*MUTABLE_JOB_FIELDS, "completions")
    return MUTABLE_JOB_FIELDS
