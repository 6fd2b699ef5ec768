"""What to do about one work, from what is desired and what is seen. Pure.

`decide` is level-based: it may be called any number of times with the same picture and answers the
same. Its rules are those of the agents reference, 5.4: never create without a fresh lease, never
create what was seen once, never touch what is not ours, one epoch at a time.
"""

import datetime as dt
from dataclasses import dataclass, field
from typing import Any, Literal

from shared import labels
from shared.wire.agent_v1 import Phase, Work

Object = dict[str, Any]

JOB = ("batch/v1", "Job")
# Job fields that its API lets change after creation and that Roadstead keeps as declared. Never
# `suspend` (it starts and stops the Job) and never `ttlSecondsAfterFinished` (withheld).
MUTABLE_JOB_FIELDS = ("parallelism", "activeDeadlineSeconds", "backoffLimit")

Do = Literal["Nothing", "Create", "PatchJob", "Delete", "Apply", "ReadBack"]


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why the last try did not succeed. `final`: trying again would change nothing."""

    reason: str
    message: str = ""
    final: bool = False


@dataclass(slots=True)
class Seen:
    """What the agent knows about one uid in the member, besides the work itself."""

    live: Object | None = None  # the object that carries our labels with this uid
    ever: bool = False  # this epoch's object existed at some time of this session
    vanished: bool = False  # it went away without our asking: look before concluding
    unknown_until: float = 0.0  # a create without answer may still land until then
    pods: int = 0  # pods of this job that still exist
    trouble: Trouble | None = None
    not_before: float = 0.0  # monotonic instant of the next try
    drifted: bool = False  # a desired path does not hold (see agent.drift)
    deleting: bool = False  # we asked for deletion of the live object
    make_room: bool = False  # a newer job of the same name needs the place of this ended one


@dataclass(frozen=True, slots=True)
class Picture:
    """The moment a decision is made in. `now` is monotonic seconds, `wall` UTC."""

    hub_id: str
    now: float
    wall: dt.datetime
    may_create: bool  # the lease is fresh (wire module, LEASE_S)
    settled: bool  # no earlier session of this credential can act any more
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


def decide(work: Work, seen: Seen, picture: Picture) -> Decision:
    """The next step for one work. See `decide_job` and `decide_object`."""
    if not picture.synced:
        return Decision("Waiting", reason="Observing", message="reading the member's objects")
    if (work.api_version, work.kind) == JOB:
        return decide_job(work, seen, picture)
    return decide_object(work, seen, picture)


# --- Jobs ----------------------------------------------------------------------------------------


def decide_job(work: Work, seen: Seen, picture: Picture) -> Decision:
    """A Job is created once per epoch, patched in its mutable fields, and deleted when told."""
    live = seen.live
    if live is not None and epoch_of(live) > work.epoch:
        return _newer_epoch_there(work, live)
    if seen.vanished and live is None:
        return Decision("Waiting", "ReadBack", reason="Vanished", message="looking for the Job")
    if work.action == "Withdraw":
        return _withdraw(seen, picture)
    if live is not None and epoch_of(live) < work.epoch:
        return _clear_the_way(
            seen, "EarlierEpochGoing", f"epoch {epoch_of(live)} is being removed"
        )
    if work.action == "Keep":
        return _keep(work, seen, picture)
    if live is not None:
        return _hold_job(work, live, seen, picture)
    return _start(work, seen, picture)


def _newer_epoch_there(work: Work, live: Object) -> Decision:
    return Decision(
        "Applied",
        reason="NewerEpoch",
        message=f"epoch {epoch_of(live)} is here, {work.epoch} was asked for",
    )


def _start(work: Work, seen: Seen, picture: Picture) -> Decision:
    if work.seen or seen.ever:
        if not picture.settled:
            return Decision("Waiting", reason="LeaseWait", message="an earlier session may act")
        return Decision("Missing", reason="Missing", message="the Job was here and is gone")
    if seen.pods:
        text = f"{seen.pods} pods of an earlier epoch still exist"
        return Decision("Waiting", reason="EarlierEpochGoing", message=text)
    held = _troubled(seen, picture)
    if held is not None:
        return held
    if not picture.may_create:
        return Decision(
            "Waiting", reason="LeaseExpired", message="the hub has not answered lately"
        )
    return Decision("Waiting", "Create", reason="Creating")


def _hold_job(work: Work, live: Object, seen: Seen, picture: Picture) -> Decision:
    if is_deleting(live):
        return Decision("Applied", reason="Deleting", message="someone deletes the Job")
    if finished(live):
        return Decision("Applied")
    due = seen.drifted and work.when_to_apply == "Always"
    if outdated(work, live) and seen.drifted and work.when_to_apply == "IfNotDrifted":
        return Decision("Failed", reason="FoundDrifts", message="drifted fields are left alone")
    if not (due or outdated(work, live)):
        return Decision("Applied")
    if picture.now < seen.not_before:
        trouble = seen.trouble or Trouble("")
        phase: Phase = "Failed" if trouble.final else "Applied"
        return Decision(phase, "Nothing", trouble.reason, trouble.message, seen.not_before)
    return Decision("Applied", "PatchJob", patch=job_patch(work, live))


def _keep(work: Work, seen: Seen, picture: Picture) -> Decision:
    """A finished Job stays `ttl_s` after its end (None: for good) and is then deleted."""
    live = seen.live
    if live is None:
        return _gone_or_wait(seen, picture)
    if seen.deleting or is_deleting(live):
        return Decision("Applied", reason="Expiring", message="time to live is over")
    ended = finished(live)
    if ended is None or (work.ttl_s is None and not seen.make_room):
        return Decision("Applied")
    left = (work.ttl_s or 0) - (picture.wall - ended).total_seconds()
    if left > 0 and not seen.make_room:
        return Decision("Applied", wake_at=picture.now + left)
    if not picture.settled:
        return Decision("Applied", reason="LeaseWait", message="deletion waits for the lease")
    if picture.now < seen.not_before:
        return Decision("Applied", wake_at=seen.not_before)
    return Decision("Applied", "Delete", reason="Expiring", propagation="Background")


# --- both ----------------------------------------------------------------------------------------


def _withdraw(seen: Seen, picture: Picture) -> Decision:
    if seen.live is None:
        return _gone_or_wait(seen, picture)
    return _clear_the_way(seen, "Withdrawing", "being deleted", picture)


def _clear_the_way(
    seen: Seen, reason: str, message: str, picture: Picture | None = None
) -> Decision:
    """Delete the live object (foreground) unless that is under way."""
    assert seen.live is not None
    phase: Phase = "Waiting" if reason == "EarlierEpochGoing" else "Applied"
    if seen.deleting or is_deleting(seen.live):
        return Decision(phase, reason=reason, message=message)
    if picture is not None and picture.now < seen.not_before:
        return Decision(phase, reason=reason, message=message, wake_at=seen.not_before)
    return Decision(phase, "Delete", reason=reason, message=message)


def _gone_or_wait(seen: Seen, picture: Picture) -> Decision:
    if seen.pods:
        text = f"{seen.pods} pods still exist"
        return Decision("Waiting", reason="PodsRemain", message=text)
    if picture.now < seen.unknown_until:
        text = "a creation without answer may still take place"
        return Decision("Waiting", "ReadBack", "OutcomeUnknown", text, seen.unknown_until)
    if not picture.settled:
        return Decision("Waiting", reason="LeaseWait", message="an earlier session may act")
    return Decision("Gone")


def _troubled(seen: Seen, picture: Picture) -> Decision | None:
    """Failed or waiting on account of the last try, until the next one is due."""
    trouble = seen.trouble
    if trouble is None or (not trouble.final and picture.now >= seen.not_before):
        return None
    waits = trouble.reason in TRANSIENT
    wake = None if trouble.final else seen.not_before
    return Decision(
        "Waiting" if waits else "Failed", "Nothing", trouble.reason, trouble.message, wake
    )


# Reasons that say "not yet", not "no".
TRANSIENT = frozenset({"Unavailable", "Throttled", "NameTaken", "Retrying"})


# --- other objects -------------------------------------------------------------------------------


def decide_object(work: Work, seen: Seen, picture: Picture) -> Decision:
    """An object is applied, kept as declared, and deleted when told."""
    live = seen.live
    if work.action == "Withdraw":
        return _withdraw(seen, picture)
    if not picture.served:
        text = f"the cluster does not serve {work.kind} in {work.api_version}"
        return Decision("Failed", reason="KindNotServed", message=text)
    if live is None:
        held = _troubled(seen, picture)
        if held is not None:
            return held
        if not picture.wave_open:
            return Decision("Waiting", reason="EarlierWave", message="what it needs comes first")
        return Decision("Waiting", "Apply", reason="Applying")
    if is_deleting(live):
        return Decision("Waiting", reason="Deleting", message="someone deletes the object")
    return _hold_object(work, live, seen, picture)


def _hold_object(work: Work, live: Object, seen: Seen, picture: Picture) -> Decision:
    stale = outdated(work, live)
    if stale and seen.drifted and work.when_to_apply == "IfNotDrifted":
        return Decision("Failed", reason="FoundDrifts", message="drifted fields are left alone")
    if not stale and not (seen.drifted and work.when_to_apply == "Always"):
        return Decision("Applied")
    if stale:
        held = _troubled(seen, picture)
        if held is not None:
            return held
    elif picture.now < seen.not_before:
        return Decision("Applied", wake_at=seen.not_before)
    return Decision("Waiting" if stale else "Applied", "Apply", force=True)


# --- facts about objects -------------------------------------------------------------------------


def owner_of(obj: Object, hub_id: str) -> str | None:
    """The uid of the work that an object carries our labels of; None: not ours."""
    marks = obj["metadata"].get("labels") or {}
    if marks.get(labels.MANAGED_BY) != hub_id:
        return None
    return marks.get(labels.JOB_UID) or None


def epoch_of(obj: Object) -> int:
    """The epoch in an object's label; 0 without one, as of objects that are no Jobs."""
    text = (obj["metadata"].get("labels") or {}).get(labels.EPOCH) or ""
    return int(text) if text.isdecimal() else 0


def generation_of(obj: Object, otherwise: int) -> int:
    """The work generation that was applied last, from its annotation."""
    text = (obj["metadata"].get("annotations") or {}).get(labels.GENERATION) or ""
    return int(text) if text.isdecimal() else otherwise


def is_deleting(obj: Object) -> bool:
    return bool(obj["metadata"].get("deletionTimestamp"))


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
