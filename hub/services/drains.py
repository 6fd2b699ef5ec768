"""Who must go because its queue is stopped and drained (stopPolicy HoldAndDrain)."""

from collections.abc import Mapping

from hub.domain.quota.holders import AdmittedWorkload
from hub.services.routes import DEFAULT_QUEUE, DRAIN, Routes


def drained(
    routes: Routes, holders: Mapping[str, Mapping[str, AdmittedWorkload]]
) -> dict[tuple[str, str], list[str]]:
    """Workloads admitted through queues that are held and drained, by (reason, message)."""
    queues = {q.name for q in routes.queues.values() if q.stop_policy == DRAIN}
    doors = {key for key, q in routes.local.items() if q.stop_policy == DRAIN}
    found: dict[tuple[str, str], list[str]] = {}
    if not queues and not doors:
        return found
    for name, held in holders.items():
        for holder in held.values():
            door = (holder.namespace, holder.local_queue or DEFAULT_QUEUE)
            if holder.evicted or not (name in queues or door in doors):
                continue
            kind, said = ("ClusterQueue", name) if name in queues else ("LocalQueue", door[1])
            why = f"{kind}Stopped", f"{kind} {said} is stopped: its workloads are drained"
            found.setdefault(why, []).append(holder.uid)
    return found
