"""Takes a Job back that waits in a queue of the member, once its namespace refuses the hub. Pure.

There the member's queue manager would start it. A Job that ever ran is left alone. The rule and its
proof: docs/explain/exactly-once.md, rule 22.
"""

from agent.decide.decision import Decision, Moment, Seen
from agent.objects.facts import Object, is_deleting, is_unstarted, is_waiting, never_ran
from agent.objects.manifests import consent_withdrawn_patch
from shared import labels
from shared.consent import NOT_ACCEPTED

_WITHDRAWN = "the namespace withdrew its consent while the Job waited in a queue of the member"


def take_back(live: Object, seen: Seen, moment: Moment) -> Decision | None:
    """The next step for a desired Job that waits and was started by the agent; None: it stays.

    First its annotation says why it goes, so that a later session does not take it for one that
    somebody else deleted; then it is deleted. Both only in the version that was judged.
    """
    marked = labels.CONSENT_WITHDRAWN in (live["metadata"].get("annotations") or {})
    refusal = moment.closed.message if moment.closed is not None else _WITHDRAWN
    if is_deleting(live):
        goes = marked and is_waiting(live, seen.hold)
        return Decision("Failed", reason=NOT_ACCEPTED, message=refusal) if goes else None
    if not (marked or moment.closed) or seen.pods or is_unstarted(live):
        return None
    if not never_ran(live, seen.hold):
        return None
    if moment.now < seen.not_before:
        return Decision("Applied", "Nothing", NOT_ACCEPTED, refusal, seen.not_before)
    if not marked:
        patch = consent_withdrawn_patch(live)
        return Decision("Applied", "MarkWaiting", NOT_ACCEPTED, refusal, patch=patch)
    return Decision("Applied", "DeleteWaiting", NOT_ACCEPTED, refusal)
