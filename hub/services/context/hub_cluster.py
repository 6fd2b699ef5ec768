"""The hub cluster as people see it: whether the bridge to it runs, and the word that lifts a stop.

The bridge stops where acting could destroy something (`hub.bridge.condition`). An administrator decides
about the findings, by naming the reason; the bridge executes the decision.
"""

from collections.abc import Mapping
from typing import Final

from hub.store import audit, objects, settings
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.errors import Rejected
from shared.reject_codes import RejectCode

LIFT: Final = "bridge_lift"
SILENT: Final = "HubClusterSilent"  # it does not answer: the bridge continues when it does
STARTING: Final = "HubClusterStarting"  # the hub's kinds are not served there yet
# The meaning of a resume, by the reason of the stop; a reason that is not here ends without one.
MEANING: Final = {
    "AbsentWithoutDeletion": "objects absent on the hub cluster count as deleted",
    "TooManyDeletions": "objects absent on the hub cluster count as deleted",
    "HubClusterChanged": "the hub belongs to the cluster behind the kubeconfig from now on",
    "ResourceVersionWentBack": "the hub accepts the hub cluster's present objects",
}


def show(tx: Transaction) -> Json:
    """{"connected", "uid", "running", "reason", "message", "resuming", "jobs", "jobsMessage", "jobsShown",
    "recordsShown", "mirrors"}.

    Without a hub cluster all are empty. `connected`: it answers, as far as is known. `resuming` says
    what lifting the present stop would mean, "" where there is nothing to lift. `jobs`: what keeps
    Jobs from running there (`hub.bridge.protection`), and in words. `jobsShown`: None, All or Some of
    those that came by REST; `recordsShown`: of records of placements. `mirrors`: Guarded, None or Unknown.
    """
    told = bridge_condition(tx)
    reason = told.get("reason", "")
    running = told.get("status") == "True"
    return {
        "connected": bool(told) and reason != SILENT,
        "uid": hub_cluster_uid(tx),
        "running": running,
        "reason": reason,
        "message": told.get("message", ""),
        "resuming": "" if running else MEANING.get(reason, ""),
        "jobs": told.get("jobs", ""),
        "jobsMessage": told.get("jobs_message", ""),
        "jobsShown": told.get("jobs_shown", ""),
        "recordsShown": told.get("records_shown", ""),
        "mirrors": told.get("mirrors", ""),
    }


def resume(tx: Transaction, reason: str, principal: str) -> Json:
    """Lift the bridge's stop for `reason`; it obeys within seconds.

    The reason is named so that the caller lifts only the stop that it has read. Raises Rejected:
    BridgeNotStopped (it runs, or is stopped for another reason), BridgeWaits (it continues without a resume).
    """
    told = show(tx)
    if not told["reason"] or told["running"] or told["reason"] != reason:
        stands = f"it is stopped for {told['reason']}" if told["reason"] else "there is none"
        if told["running"]:
            stands = "it is running"
        text = f"the bridge is not stopped for {reason[:64] or 'no reason'}: {stands}"
        raise Rejected(RejectCode.BRIDGE_NOT_STOPPED, text, "reason")
    if reason not in MEANING:
        text = f"{reason} ends when its cause is gone: {told['message']}"
        raise Rejected(RejectCode.BRIDGE_WAITS, text, "reason")
    settings.put(tx, LIFT, reason)
    audit.add(tx, principal, "resume", "HubCluster", f"lifts {reason}")
    return told


def is_lifted(tx: Transaction) -> bool:
    """Has an administrator said a word that the bridge has not heard yet?"""
    return settings.get(tx, LIFT) is not None


def take_lift(tx: Transaction, term: int, reason: str) -> bool:
    """The bridge asks: has this stop been lifted? The word is used up. Raises StaleTerm."""
    tx.require_term(term)
    word = settings.get(tx, LIFT)
    if word is not None:
        settings.remove(tx, LIFT)
    return bool(word == reason)


HUB_CLUSTER_UID: Final = "hub_cluster_uid"


BRIDGE: Final = "bridge"


def hub_cluster_uid(tx: Transaction) -> str:
    """The identity of the hub cluster this hub belongs to; "" before the first."""
    return str(settings.get(tx, HUB_CLUSTER_UID) or "")


def adopt_hub_cluster(tx: Transaction, uid: str) -> None:
    """Belong to the hub cluster of that identity from now on (an administrator's word).

    Its Namespaces are the hub's by their names: their uids are others, and that is explained.
    """
    settings.put(tx, HUB_CLUSTER_UID, uid)
    objects.forget_hub_cluster_uids(tx)


def tell_condition(tx: Transaction, condition: Mapping[str, str]) -> None:
    """Keep what the bridge says of itself: {"status", "reason", "message", and of Jobs there "jobs",
    "jobs_message", "jobs_shown", and "records_shown", "mirrors"}.
    """
    if settings.get(tx, BRIDGE) != dict(condition):
        settings.put(tx, BRIDGE, dict(condition))


def bridge_condition(tx: Transaction) -> dict[str, str]:
    """The bridge's last report; {} without a hub cluster."""
    return dict(settings.get(tx, BRIDGE) or {})
