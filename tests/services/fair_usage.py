"""A ClusterQueue whose LocalQueues go by usage, and what they have used."""

from typing import Any

from hub.services.context.settings import Queueing, Settings
from hub.store import usage
from tests.services.build import a_class, in_cohort
from tests.services.hubs import KUEUE, Running, a_job


def by_usage(**given: Any) -> Settings:
    given = {"usage_half_life_s": 600.0, "usage_sampling_s": 60.0} | given
    return Settings(queueing=Queueing(admission_fair_sharing="On", **given))


def shared(cpu: str, weights: dict[str, str], **given: Any) -> list[dict[str, Any]]:
    """ClusterQueue `q` whose order is by usage, with a LocalQueue for each weight."""
    flavor, queue, _ = in_cohort("q", cpu, cohort="", **given)
    queue["spec"]["admissionScope"] = {"admissionMode": "UsageBasedAdmissionFairSharing"}
    local_queues = [
        {
            "apiVersion": KUEUE,
            "kind": "LocalQueue",
            "metadata": {"name": name, "namespace": "team-a"},
            "spec": {"clusterQueue": "q", "fairSharing": {"weight": weight}},
        }
        for name, weight in weights.items()
    ]
    return [flavor, queue, *local_queues, a_class("high", 100)]


async def submit(hub: Running, queue: str, *names: str, priority: str = "") -> list[str]:
    label = {"kueue.x-k8s.io/priority-class": priority} if priority else {}
    uids = []
    for name in names:
        uids += await hub.apply(a_job(name, queue=queue, requests={"cpu": "1"}, labels=label))
        hub.clock.advance(1)
    return uids


async def consumed(hub: Running, amounts: dict[str, float]) -> None:
    """LocalQueues have used so many cores, as of now."""
    now = hub.clock.now()
    rows = [usage.Consumed("team-a", name, {"cpu": used}, now) for name, used in amounts.items()]
    await hub.hub.write(usage.put, rows)
