"""The next step for one object other than a Job: apply, keep as declared, compare, delete or abandon.

Pure.
"""

from dataclasses import replace
from typing import Final

from agent.decide.decision import (
    DELETING,
    LEASE_WAIT,
    NOT_EMPTY,
    OBSERVING,
    Decision,
    Do,
    Moment,
    Seen,
    Trouble,
    troubled,
)
from agent.objects.facts import Object, is_created, is_deleting, is_namespace, outdated
from shared.labels import CREATED_BY
from shared.wire.agent_v1 import DIFF_REPORTED, Phase, Work
from shared.wire.namespaces import NAMESPACE_KEPT

NOT_SERVED: Final = "KindNotServed"
COMPARED_EVERY_S: Final = 60.0
UNREAD_S: Final = 5.0  # until it is asked again whether a kind could be read


def decide_object(work: Work, seen: Seen, moment: Moment) -> Decision:
    """An object is applied, kept as declared, and deleted or abandoned when told."""
    live = seen.live
    if not moment.synced:
        return unread(work, moment)
    if live is not None and is_another(work, live):
        return Decision("Gone")
    if work.action == "Withdraw":
        return _withdraw_object(seen, moment)
    if work.action == "Keep":
        return _abandon_object(seen, moment)
    if not moment.served:
        return unserved(work)
    if work.action == "Compare":
        return _compare_object(seen, moment)
    if live is None:
        return _begin_object(work, seen, moment)
    if is_deleting(live):
        return Decision("Waiting", reason=DELETING, message="someone deletes the object")
    return _hold_object(work, live, seen, moment)


def _begin_object(work: Work, seen: Seen, moment: Moment) -> Decision:
    """It is not there: applied, once what it needs is."""
    if work.manifest is None:
        text = "the hub has sent no manifest: what it has can not be composed, as its log says"
        return Decision("Failed", reason="ManifestMissing", message=text)
    held = troubled(seen, moment)
    if held is not None:
        return held
    if not moment.wave_open:
        return Decision("Waiting", reason="EarlierWave", message="what it needs comes first")
    return Decision("Waiting", "Apply", reason="Applying")


def unserved(work: Work) -> Decision:
    """The member lacks the kind's definition."""
    text = f"the cluster does not serve {work.kind} in {work.api_version}"
    return Decision("Failed", reason=NOT_SERVED, message=text)


def unread(work: Work, moment: Moment) -> Decision:
    """Nothing is done to what can not be seen; where that is for want of a right, it is said."""
    again = moment.now + UNREAD_S
    if not moment.served:
        where = unserved(work)
        phase: Phase = (
            "Failed" if work.action in {"Apply", "Compare"} and not work.seen else "Waiting"
        )
        return replace(where, phase=phase, message=moment.refused or where.message, wake_at=again)
    if moment.refused and work.action in {"Apply", "Compare"}:
        text = f"the agent may not list and watch {work.kind} in this cluster: {moment.refused}"
        return Decision("Failed", reason="KindNotReadable", message=text, wake_at=again)
    return replace(OBSERVING, wake_at=again)


def _withdraw_object(seen: Seen, moment: Moment) -> Decision:
    """Delete what the agent created, release what it took over, and say Gone.

    A late copy of the object is an orphan, which this session withdraws too (`agent.works.withdrawn`).
    """
    live = seen.live
    if live is None:
        if moment.refused and not moment.served:  # it may be there in another version
            text = moment.refused
            return Decision(
                "Waiting", reason=NOT_SERVED, message=text, wake_at=moment.now + UNREAD_S
            )
        if moment.settled_at is None:
            return LEASE_WAIT
        return Decision("Gone", reason=NAMESPACE_KEPT if seen.kept else "", message=seen.kept)
    if is_deleting(live):
        return Decision("Applied", reason="Withdrawing", message="being deleted")
    if moment.now < seen.not_before:
        trouble = seen.trouble or Trouble("Withdrawing", "being deleted")
        reason = trouble.reason if trouble.reason == NOT_EMPTY else "Withdrawing"
        return Decision("Applied", reason=reason, message=trouble.message, wake_at=seen.not_before)
    do, text = removal(live, moment.hub_id)
    return Decision("Applied", do, reason="Withdrawing", message=text)


def is_another(work: Work, live: Object) -> bool:
    """Tell if a work is about one object, by its uid, and this is a later one in its place."""
    return bool(work.object_uid) and live["metadata"].get("uid") != work.object_uid


def removal(live: Object, hub_id: str) -> tuple[Do, str]:
    """The step that removes an object, no Job, from a hub's care: only what it created is deleted."""
    if not is_created(live, hub_id):
        return "Abandon", f"being released: it has no label {CREATED_BY}={hub_id}"
    if is_namespace(live):
        return "DeleteNamespace", "being deleted, once nothing is left in it"
    return "Delete", "being deleted"


def _compare_object(seen: Seen, moment: Moment) -> Decision:
    """Look by name how an object differs, now and every minute: what is not ours is not watched."""
    held = troubled(seen, moment)
    if held is not None:
        return held
    if seen.compared_at is None:
        return Decision("Waiting", "Compare", reason="Comparing")
    due = seen.compared_at + COMPARED_EVERY_S
    if moment.now >= due:
        return Decision("Applied", "Compare", DIFF_REPORTED, seen.comparison.note)
    return Decision("Applied", "Nothing", DIFF_REPORTED, seen.comparison.note, wake_at=due)


def _abandon_object(seen: Seen, moment: Moment) -> Decision:
    """Leave an object to the member; Gone once a read past the caches finds nothing of ours on it.

    That read begins after any earlier session's time: what such a one still wrote is found.
    """
    phase: Phase = "Waiting"
    if seen.live is not None:
        phase = "Applied"
    elif moment.settled_at is None:
        return LEASE_WAIT
    elif seen.absent_at is not None and seen.absent_at >= moment.settled_at:
        return Decision("Gone")
    if moment.now < seen.not_before:
        why = seen.trouble.message if seen.trouble is not None else "being left to the member"
        return Decision(phase, reason="Abandoning", message=why, wake_at=seen.not_before)
    return Decision(phase, "Abandon", reason="Abandoning", message="being left to the member")


_LEFT: Final = (
    "drifted fields are left alone, so that this version is not applied: accept, ignore or restore them "
    "(roadstead drift ls)"
)


def _hold_object(work: Work, live: Object, seen: Seen, moment: Moment) -> Decision:
    stale = outdated(work, live)
    careful = work.when_to_apply == "IfNotDrifted" and not work.restore
    if stale and careful and (seen.drifted or seen.added):
        return Decision("Failed", reason="FoundDrifts", message=_LEFT)
    if not stale and not (seen.drifted and work.when_to_apply == "Always"):
        return Decision("Applied")
    held = troubled(seen, moment)
    if held is not None and (stale or held.phase == "Failed" or work.force is False):
        return held  # also for drift that no write puts back
    if not stale and moment.now < seen.not_before:
        return Decision("Applied", wake_at=seen.not_before)
    return Decision("Waiting" if stale else "Applied", "Apply", force=True)
