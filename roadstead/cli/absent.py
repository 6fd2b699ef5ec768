"""Fails an empty list with NotFound if a filter names something that does not exist."""

from collections.abc import Mapping
from typing import Any

from roadstead.client import Client
from roadstead.errors import NotAllowed, NotFound


def refuse_absent(hub: Client, filters: Mapping[str, Any]) -> None:
    """Raise NotFound for the first filter whose object the hub does not have.

    Checks `namespace`, `cluster`, `queue` (a LocalQueue, in `namespace` if given), `cluster_queue` and
    `check`; ignores other filters. For a caller without the right to read these, a namespace without a role
    raises NotFound, and other lists stay empty.
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
        detail = f"no namespace {namespace} that you may see: roadstead whoami shows your roles"
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
