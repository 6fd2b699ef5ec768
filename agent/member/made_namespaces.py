"""Creates the namespace that a Job was submitted to, as users expect."""

from agent.decide.decision import Trouble
from agent.member.acceptance import Acceptance
from agent.objects.facts import Object
from shared import labels
from shared.kube import errors
from shared.kube.client import KubeClient


async def make_for_job(
    client: KubeClient, acceptance: Acceptance, name: str, wanted: str | None
) -> Trouble | None:
    """Create a namespace; None if it is there now.

    `wanted`: the id of the hub's namespace; None: a hub that does not tell it.
    """
    metadata: Object = {
        "name": name,
        "labels": dict.fromkeys((labels.MANAGED_BY, labels.CREATED_BY), acceptance.hub_id),
    }
    if wanted is not None:
        metadata["annotations"] = {labels.NAMESPACE_ID: wanted}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    try:
        await client.create(namespace, field_manager=labels.FIELD_MANAGER)
    except errors.AlreadyExists:
        return await _check(client, acceptance, name, wanted)
    except errors.Unavailable as silent:
        return Trouble("Unavailable", silent.message)
    except errors.KubeError as refusal:
        return Trouble("NamespaceMissing", refusal.message)
    return None


async def _check(
    client: KubeClient, acceptance: Acceptance, name: str, wanted: str | None
) -> Trouble | None:
    """Judge a namespace that appeared meanwhile: another step made it, or the member's people."""
    try:
        live = await client.get("v1", "Namespace", "", name)
    except errors.KubeError as refusal:
        return Trouble("Retrying", refusal.message)
    return acceptance.judge(live, name, wanted)
