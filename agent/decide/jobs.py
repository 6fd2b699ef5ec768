"""The next step for a job's object: created unstarted, started by its uid, let go when the hub has its end.

Pure. The object is a Job, or of another kind that is held as the work's rule says (`agent.objects.holds`).

The rules and why nothing runs twice: docs/explain/exactly-once.md. In short: a POST, however late it
lands, starts nothing; a start names the uid of an object that was seen, so it dies with that object;
an object is let go only when the hub has stored how it ended; absence is read, never assumed.
"""

from dataclasses import replace
from typing import Literal

from agent.decide.decision import (
    LEASE_WAIT,
    OBSERVING,
    PODS_LEFT,
    Decision,
    Do,
    Moment,
    Seen,
    troubled,
)
from agent.decide.member_queue import take_back
from agent.decide.plain_objects import NOT_SERVED, removal, unread, unserved
from agent.objects.facts import (
    Object,
    epoch_of,
    is_deleting,
    is_held_by_us,
    is_of_job,
    is_unstarted,
    never_ran,
    outdated,
)
from agent.objects.manifests import job_patch, release_patch, start_patch
from shared import labels
from shared.finalizers import finalizers_of
from shared.wire.agent_v1 import Phase, Work

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
NEWER_EPOCH = "NewerEpoch"

_End = Literal["Gone", "Missing"]


def decide_job(work: Work, seen: Seen, moment: Moment) -> Decision:
    """The next step for a Job's work."""
    live = seen.live
    if work.action == "Withdraw" and _never_started(work, seen):
        return Decision("Gone", unstarted=True)
    if not moment.synced:
        is_told = moment.served and (work.kind_rule is None or work.seen)
        return OBSERVING if is_told else unread(work, moment)
    if live is not None and epoch_of(live) > work.epoch:
        return _newer(work, live, seen, moment)
    if live is not None and epoch_of(live) < work.epoch:
        return _clear_the_way(live, seen, moment)
    if work.action == "Withdraw":
        return _end(work, seen, moment, "Gone")
    if work.action == "Keep":
        return _keep(work, seen, moment)
    if live is None or is_deleting(live):
        return _absent_or_deleted(work, seen, moment)
    return _hold(work, live, seen, moment)


def _newer(work: Work, live: Object, seen: Seen, moment: Moment) -> Decision:
    """The hub's store went back: what it does not know is left alone, until a person deletes it.

    Or it is this agent that is behind: whatever its lease, another may have been told of the later epoch, and
    owe the hub its end. Which it is shows when the hub has stored that this very object is here.
    """
    if is_deleting(live) and live["metadata"].get("uid") == seen.forgotten:
        return _clear_the_way(live, seen, moment, NEWER_EPOCH)
    text = f"epoch {epoch_of(live)} is here, {work.epoch} was asked for"
    return Decision("Applied", reason=NEWER_EPOCH, message=text)


def decide_orphan(seen: Seen, moment: Moment) -> Decision:
    """Nothing desires it: told to the hub, and removed when the hub says so.

    Perhaps its work is only not here yet. So of one that was never started it is not said that it is
    `Applied`: its epoch would count as begun. What another incarnation of the hub made is not touched.
    It is not ours to keep either: when a person has deleted it and its pods are gone, nobody waits for
    its end.
    """
    live = seen.live
    assert live is not None
    phase: Phase = "Waiting" if is_unstarted(live) else "Applied"
    uid = live["metadata"].get("uid")
    if uid == seen.acknowledged and is_deleting(live):
        return _release_or(Decision(phase, reason="Orphan"), live, seen, moment)
    if uid == seen.ordered or (uid == seen.left and is_deleting(live)):
        return replace(_clear_the_way(live, seen, moment, "Orphan"), phase=phase)
    where = f"{live['metadata'].get('namespace') or ''}/{live['metadata'].get('name')}"
    return Decision(phase, reason="Orphan", message=f"{where}: the hub does not ask for it")


def _remove_object(live: Object, seen: Seen, moment: Moment) -> Decision:
    """An orphan that is of no job: deleted if the agent created it, else released."""
    do, text = removal(live, moment.hub_id)
    if moment.now < seen.not_before:
        return Decision("Applied", reason="Orphan", message=text, wake_at=seen.not_before)
    return Decision("Applied", do, reason="Orphan", message=text)


# --- the way up ----------------------------------------------------------------------------------


def _absent_or_deleted(work: Work, seen: Seen, moment: Moment) -> Decision:
    """Desired, and not there or being deleted by somebody: made, or found to have been ended."""
    if seen.closed:
        return _end(work, seen, moment, "Missing")
    if seen.live is not None and not is_unstarted(seen.live):
        return take_back(seen.live, seen, moment) or _end(work, seen, moment, "Missing")
    if seen.live is not None:  # never started: it goes and is made again
        return _clear_the_way(seen.live, seen, moment, "EarlierEpochGoing")
    if work.seen or seen.ever:
        return _end(work, seen, moment, "Missing")
    if seen.pods:
        text = f"{seen.pods} pods of an earlier epoch still exist"
        return Decision("Waiting", reason="EarlierEpochGoing", message=text)
    held = troubled(seen, moment) or _unknown_kind(work, seen, moment)
    if held is not None:
        return held
    if not moment.may_start:
        return _lease_expired()
    return Decision("Waiting", "Create", reason="Creating")


def _unknown_kind(work: Work, seen: Seen, moment: Moment) -> Decision | None:
    """Why nothing of this kind is created here; None: it may be."""
    if not moment.served:
        return unserved(work)
    return _unheld(work, seen)


def _unheld(work: Work, seen: Seen) -> Decision | None:
    if seen.hold is None:
        text = f"the hub has not told how {work.kind} is held: nothing is created that would run at once"
        return Decision("Failed", reason="KindNotHeld", message=text)
    return None


def _hold(work: Work, live: Object, seen: Seen, moment: Moment) -> Decision:
    if is_unstarted(live):
        if seen.closed or seen.ever or work.seen:  # a second object, of a POST that landed late
            return _end(work, seen, moment, "Missing")
        return _start(work, live, seen, moment)
    if seen.ended():
        return Decision("Applied")
    if (taken_back := take_back(live, seen, moment)) is not None:
        return taken_back
    due = seen.drifted and (work.when_to_apply == "Always" or work.kind_rule is not None)
    if outdated(work, live) and seen.drifted and work.when_to_apply == "IfNotDrifted":
        return Decision("Failed", reason="FoundDrifts", message="drifted fields are left alone")
    if not (due or outdated(work, live)):
        return Decision("Applied")
    if moment.now < seen.not_before:
        # A refused change is a reason, never a verdict: the Job itself is there and runs on.
        text = seen.trouble.message if seen.trouble is not None else ""
        reason = "ChangeRefused" if text else ""
        return Decision("Applied", "Nothing", reason, text, seen.not_before)
    return Decision("Applied", "PatchJob", patch=job_patch(work, live))


def _start(work: Work, live: Object, seen: Seen, moment: Moment) -> Decision:
    held = troubled(seen, moment) or _unheld(work, seen)
    if held is not None:
        return held
    if not moment.may_start:
        return _lease_expired()
    return Decision("Waiting", "Start", reason="Creating", patch=start_patch(work, live))


def _lease_expired() -> Decision:
    text = "the hub has not answered lately"
    return Decision("Waiting", reason="LeaseExpired", message=text)


# --- the way down --------------------------------------------------------------------------------


def _never_started(work: Work, seen: Seen) -> bool:
    """Whether nothing of this epoch can ever have been started, and nothing will.

    Only a session that was offered an epoch may start it, and only this one was. Whatever POST of it
    is under way or lands later makes a Job that nobody starts. A newer epoch says that this one is of
    a store that went back.
    """
    if seen.live is not None and epoch_of(seen.live) > work.epoch:
        return False
    return work.fresh and not seen.started and not seen.ever and not work.seen


def _was_refused(work: Work, live: Object, seen: Seen) -> bool:
    """Tell if each start of the epoch was refused, and its object is as it was made.

    A copy of a refused request may still arrive: so this is evidence only of an object that is being deleted.
    """
    asked_by_us = work.fresh and seen.refused and not seen.ever and not work.seen
    return asked_by_us and is_unstarted(live) and not seen.pods


def _end(work: Work, seen: Seen, moment: Moment, phase: _End) -> Decision:
    """Bring what is left of the epoch to its end, and say how it ended."""
    live = seen.live
    if seen.closed and live is None:
        return Decision(phase, *_words(phase))
    if live is None:
        return _absent(seen, moment, phase)
    ours = phase == "Gone"
    refused = ours and _was_refused(work, live, seen)
    going: Phase = "Waiting" if refused else "Applied"  # which says that it has begun
    reason = "Withdrawing" if ours else "Deleting"
    message = "being deleted" if ours else "someone deletes the Job"
    if seen.is_unread() and not is_unstarted(live):
        return Decision("Applied", reason=reason, message=message)
    if not is_deleting(live):
        if seen.ended() and seen.told != live["metadata"].get("uid"):
            # What fails from now on is the deletion's doing; what ended before it is told before it.
            return Decision("Applied", reason=reason, message="it has ended: that is told first")
        return _delete(live, seen, moment, reason, message, phase=going)
    if not _has_ended(live, seen):
        return _ending(live, seen, moment, going, reason, message)
    if not work.fresh and moment.settled_at is None:
        # Its name comes free: an earlier session could make another object there, and start it.
        return replace(LEASE_WAIT, phase="Applied")
    waited = ours and not is_unstarted(live) and never_ran(live, seen.hold)
    told = Decision(phase, *_words(phase), unstarted=refused or waited)
    if live["metadata"].get("uid") == seen.acknowledged:
        return _release_or(told, live, seen, moment)
    return told


def _absent(seen: Seen, moment: Moment, phase: _End) -> Decision:
    """No object is cached: read past the caches, after every earlier session has lost its lease."""
    if seen.vanished:  # perhaps only our labels were taken off
        return _read_back(seen, moment)
    if seen.pods:
        remain = Decision("Waiting", reason="PodsRemain", message=f"{seen.pods} pods still exist")
        if seen.absent_at is not None:
            return remain
        if moment.now < seen.not_before:
            return replace(remain, wake_at=seen.not_before)
        return replace(remain, do="ReadBack")
    settled_at = moment.settled_at
    if settled_at is None:
        return LEASE_WAIT
    if moment.now < seen.not_before:
        text, reason = "", "Proving"
        if seen.trouble is not None:
            text = seen.trouble.message
            reason = NOT_SERVED if seen.trouble.reason == NOT_SERVED else reason
        return Decision("Waiting", reason=reason, message=text, wake_at=seen.not_before)
    if seen.absent_at is None or seen.absent_at < settled_at:
        return Decision("Waiting", "ReadBack", reason="Proving", message="looking for the Job")
    if seen.podless_at is None or seen.podless_at < seen.absent_at:
        return Decision("Waiting", "CountPods", reason="Proving", message="looking for pods")
    return Decision(phase, *_words(phase))


def _words(phase: _End) -> tuple[Do, str, str]:
    """Nothing to do, and what is said of the end."""
    if phase == "Missing":
        return "Nothing", "Missing", "the Job was here and is gone"
    return "Nothing", "", ""


def _keep(work: Work, seen: Seen, moment: Moment) -> Decision:
    """A finished Job stays `ttl_s` after its end (None: for good) and is then deleted."""
    live = seen.live
    if live is None:
        return _kept_and_gone(seen, moment)
    if not work.fresh and moment.settled_at is None:
        return replace(LEASE_WAIT, phase="Applied")  # as in `_end`: its name would come free
    if is_deleting(live):
        return _release_or(Decision("Applied", reason="Expiring"), live, seen, moment)
    if is_unstarted(live):  # of a request that came late: nobody will ever start it
        return _delete(live, seen, moment, "Expiring", "it was never started")
    ended = seen.ended()
    if ended is None:
        return Decision("Applied")
    due = seen.make_room
    left = None if work.ttl_s is None else work.ttl_s - (moment.wall - ended).total_seconds()
    if left is not None and left <= 0:
        due = True
    wake = None if left is None or due else moment.now + left
    if is_held_by_us(live):
        kept = Decision("Applied", wake_at=wake)
        return _release_or(kept, live, seen, moment, urgent=due)
    if not due:
        return Decision("Applied", wake_at=wake)
    return _delete(live, seen, moment, "Expiring", "time to live is over", foreground=False)


def _kept_and_gone(seen: Seen, moment: Moment) -> Decision:
    """Its result is with the hub; somebody deleted it, or its time was over."""
    if seen.pods:
        return Decision("Waiting", reason="PodsRemain", message=f"{seen.pods} pods still exist")
    if seen.vanished:
        return _read_back(seen, moment)
    return Decision("Gone") if moment.settled_at is not None else LEASE_WAIT


def _clear_the_way(
    live: Object, seen: Seen, moment: Moment, reason: str = "EarlierEpochGoing"
) -> Decision:
    """Remove what the hub has closed already: nothing of it is waited for but its pods."""
    phase: Phase = "Waiting" if reason == "EarlierEpochGoing" else "Applied"
    what = (
        "the hub does not want it" if reason == "Orphan" else f"epoch {epoch_of(live)} goes first"
    )
    if not is_deleting(live) and not is_of_job(live):
        return _remove_object(live, seen, moment)
    if not is_deleting(live):
        return _delete(live, seen, moment, reason, what, phase=phase)
    if not _has_ended(live, seen):
        return _ending(live, seen, moment, phase, reason, what)
    return _release_or(Decision(phase, reason=reason, message=what), live, seen, moment)


def _delete(
    live: Object,
    seen: Seen,
    moment: Moment,
    reason: str,
    message: str,
    *,
    phase: Phase = "Applied",
    foreground: bool = True,
) -> Decision:
    if moment.now < seen.not_before:
        return Decision(phase, reason=reason, message=message, wake_at=seen.not_before)
    how: Literal["Foreground", "Background"] = "Foreground" if foreground else "Background"
    return Decision(phase, "Delete", reason=reason, message=message, propagation=how)


def _has_ended(live: Object, seen: Seen) -> bool:
    """Whether a deleted Job is kept by our finalizer alone and none of its pods is left.

    That the collector took its finalizer away does not tell: whoever deletes the Job once more, in
    the background, takes it away as well. So pods are looked for past the caches; a deleted Job gets
    no new ones.
    """
    if finalizers_of(live) not in ([], [labels.MEMBER_FINALIZER]):
        return False
    if seen.podless == live["metadata"].get("uid"):
        return True
    return is_unstarted(live) and not seen.ever and not seen.pods  # a mark is anybody's to set


def _ending(
    live: Object, seen: Seen, moment: Moment, phase: Phase, reason: str, message: str
) -> Decision:
    """Deleted and not over yet. Our finalizer keeps a background deletion from its pods: we ask again."""
    kept_by = finalizers_of(live)
    if FOREGROUND in kept_by or ORPHAN in kept_by:
        return Decision(phase, reason=reason, message=message)
    trouble = seen.trouble
    if seen.foreground != live["metadata"].get("uid") or (trouble and trouble.reason == PODS_LEFT):
        return _delete(live, seen, moment, reason, message, phase=phase)
    if moment.now < seen.not_before:
        return Decision(phase, reason=reason, message=message, wake_at=seen.not_before)
    return Decision(phase, "CountPods", reason=reason, message=message)


def _release_or(
    kept: Decision, live: Object, seen: Seen, moment: Moment, *, urgent: bool = True
) -> Decision:
    """`kept`, with our finalizer taken off where it still holds the object."""
    if not is_held_by_us(live):
        return kept
    if moment.now < seen.not_before:
        return Decision(kept.phase, "Nothing", kept.reason, kept.message, seen.not_before)
    return Decision(
        kept.phase,
        "Release",
        kept.reason,
        kept.message,
        kept.wake_at,
        patch=release_patch(live),
        urgent=urgent,
    )


def _read_back(seen: Seen, moment: Moment) -> Decision:
    if moment.now < seen.not_before:
        return Decision("Waiting", reason="Vanished", wake_at=seen.not_before)
    return Decision("Waiting", "ReadBack", reason="Vanished", message="looking for the Job")
