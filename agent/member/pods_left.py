"""Looks past every cache for pods of a job, and for what may still make some."""

from typing import Final

from agent.objects.facts import Object, finished, makes_pods_of
from agent.objects.holds import ALSO_BETWEEN, BETWEEN, PODS_MAKE_MAKERS
from agent.objects.pods import is_of_copy, is_over, owner_name
from shared import labels
from shared.kube import errors, served
from shared.kube.client import KubeClient

KindKey = tuple[str, str]
_MAKER: Final = "maker"


async def pods_left(
    client: KubeClient, namespace: str, job_uid: str, name: str, parent: KindKey | None
) -> str:
    """Name the pods or the object that a job still has, in words; "" for none. Raises KubeError.

    `name`: of the Job whose pods count; copies of it have their own. `parent`: the kind of the job's object,
    where an operator makes the pods. Then objects between both are listed first: without one of these, a
    later list of pods that is empty stays empty. Where a pod makes such an object, both are listed twice: the
    first two lists show that nothing makes another one, the last two that none is left.
    """
    found = await _left(client, namespace, job_uid, name, parent)
    if found or parent not in PODS_MAKE_MAKERS:
        return found
    return await _left(client, namespace, job_uid, name, parent)


async def _left(
    client: KubeClient, namespace: str, job_uid: str, name: str, parent: KindKey | None
) -> str:
    if parent is not None and (maker := await _maker(client, namespace, job_uid, parent)):
        return f"{maker} still exists"
    listing = await client.list("v1", "Pod", namespace, f"{labels.JOB_UID}={job_uid}")
    mine = (pod for pod in listing.items if not is_of_copy(owner_name(pod["metadata"]), name))
    left = sum(not is_over(pod, of_parent=parent is not None) for pod in mine)
    return f"{left} pods still exist" if left else ""


async def _maker(client: KubeClient, namespace: str, job_uid: str, parent: KindKey) -> str:
    """An object whose pod templates are of the job, and that has not ended, by kind and name; "" for none."""

    def slim(obj: Object) -> Object:
        makes = makes_pods_of(obj, job_uid) and finished(obj) is None
        return {"name": obj["metadata"]["name"], _MAKER: makes}

    for key in (*ALSO_BETWEEN.get(parent, ()), *BETWEEN):
        if key == parent:
            continue
        try:
            listing = await served.list_all(client, *key, namespace, slim=slim)
        except errors.KindNotServed:
            continue
        for item in listing.items:
            if item[_MAKER]:
                return f"{key[1]} {item['name']}"
    return ""
