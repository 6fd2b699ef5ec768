"""Leaves an object to the member: it stays as it is, without our marks and without our ownership.

Read past every cache and by name, so that what an earlier session did, or left half done, is found too.
Of an object that is not provably ours nothing is touched.
"""

from typing import NamedTuple

import structlog

from agent.decide.decision import Outcome, Trouble
from agent.member.refusals import refused
from agent.objects.facts import Object
from agent.objects.manifests import abandon_patch
from shared import labels
from shared.kube import errors
from shared.kube.client import KubeClient
from shared.wire.agent_v1 import Work

log = structlog.get_logger(__name__)


class Ours(NamedTuple):
    """By what an object is told to be ours: this hub's, or the one that was the work's last."""

    hub_id: str
    known_uid: str  # "": none is known


async def abandon(client: KubeClient, work: Work, ours: Ours, began: float) -> Outcome:
    """Take everything of ours off; `absent_at` (`began`) where nothing of ours is there (any more)."""
    at = (work.api_version, work.kind, work.namespace, work.name)
    try:
        live = await client.get(*at)
        if not _is_ours(live, work, ours):
            return Outcome(absent_at=began)
        await client.merge_patch(*at, abandon_patch(live), field_manager=labels.FIELD_MANAGER)
    except errors.NotFound:
        return Outcome(absent_at=began)
    except errors.Conflict as changed:
        return Outcome(trouble=Trouble("Retrying", changed.message))
    except errors.KubeError as refusal:
        return Outcome(trouble=refused(refusal))
    log.info("object.abandoned", object=f"{work.namespace}/{work.name}", kind=work.kind)
    return Outcome(absent_at=began)


def _is_ours(live: Object, work: Work, ours: Ours) -> bool:
    metadata = live["metadata"]
    marks = metadata.get("labels") or {}
    if marks.get(labels.MANAGED_BY, ours.hub_id) != ours.hub_id:
        return False  # another hub's, by now
    made_for = marks.get(labels.JOB_UID)
    return made_for == work.uid or (made_for is None and metadata.get("uid") == ours.known_uid)
