"""Leaves an object to the member: it stays as it is, without our marks and without our ownership.

For works that are abandoned, and for withdrawn objects that the agent did not create. The object is read
past every cache and by name, so that what an earlier session did, or left half done, is found too.
Of an object that is not provably ours nothing is touched.
"""

from typing import NamedTuple

import structlog

from agent.decide.decision import Outcome, Trouble
from agent.member.refusals import refused
from agent.objects.facts import Object, has_our_fields
from agent.objects.manifests import abandon_patch
from shared import labels
from shared.kube import errors, served
from shared.kube.client import KubeClient

log = structlog.get_logger(__name__)

Address = tuple[str, str, str, str]  # apiVersion, kind, namespace, name


class Ours(NamedTuple):
    """The evidence that an object is ours: the marks of hub and work, or the uid that the work had last."""

    hub_id: str
    uid: str  # of the work
    known_uid: str  # "": none is known
    only: str = ""  # uid of the one object that is meant; "": whichever is there


async def abandon(client: KubeClient, at: Address, ours: Ours, began: float) -> Outcome:
    """Take everything of ours off; `absent_at` (`began`) where nothing of ours is there (any more)."""
    _, kind, namespace, name = at
    try:
        live = await served.get(client, *at)
    except errors.NotFound:
        return Outcome(absent_at=began)
    except errors.KubeError as refusal:
        return Outcome(trouble=refused(refusal))
    if not _is_ours(live, ours):
        return Outcome(absent_at=began)
    try:
        await client.merge_patch(*at, abandon_patch(live), field_manager=labels.FIELD_MANAGER)
    except (errors.NotFound, errors.Conflict) as changed:
        return Outcome(trouble=Trouble("Retrying", changed.message))
    except errors.KubeError as refusal:
        return Outcome(trouble=refused(refusal))
    log.info("object.abandoned", object=f"{namespace}/{name}", kind=kind)
    return Outcome(absent_at=began)


def _is_ours(live: Object, ours: Ours) -> bool:
    metadata = live["metadata"]
    if ours.only and metadata.get("uid") != ours.only:
        return False
    marks = metadata.get("labels") or {}
    if marks.get(labels.MANAGED_BY, ours.hub_id) != ours.hub_id:
        return False  # another hub's, by now
    made_for = marks.get(labels.JOB_UID)
    is_known = metadata.get("uid") in {ours.known_uid, ours.only} - {""}
    if made_for is None:
        return is_known
    is_written = is_known or live["kind"] == "Job" or has_our_fields(live)
    return bool(made_for == ours.uid) and is_written
