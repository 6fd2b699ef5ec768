"""A list that is empty because a filter names what is not there says so, and is no success."""

from collections.abc import Mapping
from typing import Any

from roadstead.client import Client
from roadstead.errors import NotAllowed, NotFound


def refuse_absent(hub: Client, filters: Mapping[str, Any]) -> None:
    """Raise NotFound for the first filter whose thing the hub does not have.

    Looks at `namespace`, `cluster`, `queue` (a LocalQueue, of `namespace` where that is given),
    `cluster_queue` and `check`; others name no thing. Who may not look at such things is told of a namespace
    in which they have no role, and that the list is empty.
    """
    try:
        _refuse_absent(hub, filters)
    except NotAllowed as refused:
        namespace = filters.get("namespace") or ""
        if (
            refused.status != 403
            or not namespace
            or hub.can_i("get", "jobs", namespace=namespace).allowed
        ):
            return
        detail = f"there is no namespace {namespace} for you: roadstead whoami shows where you have a role"
        raise NotFound(404, {"code": "NotFound", "detail": detail}) from refused


def _refuse_absent(hub: Client, filters: Mapping[str, Any]) -> None:
    namespace = filters.get("namespace") or ""
    if namespace not in ("", "default"):  # as in any cluster, that one is there
        hub.find("Namespace", namespace)
    if filters.get("cluster"):
        hub.cluster(filters["cluster"])
    if filters.get("cluster_queue"):
        hub.queue(filters["cluster_queue"])
    if filters.get("check"):
        hub.find("AdmissionCheck", filters["check"], group=_KUEUE)
    queue = filters.get("queue") or ""
    if queue and namespace:
        hub.local_queue(f"{namespace}/{queue}")
    elif queue and not any(
        each.metadata.name == queue for each in hub.objects("LocalQueue", group=_KUEUE)
    ):
        problem = {"code": "NotFound", "detail": f"there is no LocalQueue {queue}"}
        raise NotFound(404, problem)


_KUEUE = "kueue.x-k8s.io"
