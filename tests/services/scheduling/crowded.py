"""Scenes of kept room: a full member whose own scheduler places pods, leaving victims, another leader."""

from typing import Any

from hub.services.context.settings import Queueing, Settings
from hub.services.scheduling.turn import Scheduler
from hub.store import works
from tests.services.build import WITHIN, in_cohort, start, submit
from tests.services.hubs import Running, a_pool

KEPT_S = 5 * 60


def with_budget(most: int | None = None, **given: Any) -> Settings:
    if most is not None:
        given["max_preempted_workloads"] = most
    return Settings(queueing=Queueing(preempt_for_capacity="On", **given))


class Member:
    """A member whose scheduler puts pods on nodes as a test says, and which reports it."""

    def __init__(self, hub: Running, name: str, *cpu: int) -> None:
        self.hub, self.name, self.cpu = hub, name, cpu
        self.on: dict[str, tuple[int, int]] = {}  # uid → node, cpu
        self.epochs: dict[str, int] = {}
        self.pods: dict[str, int] = {}  # of those that have several on their node
        self.tells_nodes = True

    async def report(self) -> None:
        """Free room and bound pods, from one picture."""
        pool = a_pool(nodes=len(self.cpu), cpu="1")
        for number, (node, cpu) in enumerate(zip(pool["nodes"], self.cpu, strict=True)):
            there = [takes for at, takes in self.on.values() if at == number]
            node["allocatable"] = [cpu * 1000, 110]
            node["free"] = [(cpu - sum(there)) * 1000, 110 - len(there)]
        bound: list[dict[str, Any]] = []
        for uid, (at, _) in self.on.items():
            pods, epoch = self.pods.get(uid, 1), self.epochs.get(uid, 1)
            told = {"uid": uid, "epoch": epoch, "bound": pods, "succeeded": 0}
            bound.append(told | ({"nodes": [at, pods]} if self.tells_nodes else {}))
        await self.hub.cluster(self.name, pool, bound=bound)

    async def bind(self, cpu: int, **nodes: str) -> None:
        """Pods of `cpu` each: uid by node, as `n0=uid`."""
        for node, uid in nodes.items():
            self.on[uid] = (int(node.removeprefix("n")), cpu)
        await self.report()

    async def end(self, *uids: str) -> None:
        """Victims are gone, and so the member reports."""
        for uid in uids:
            del self.on[uid]
            await self.hub.transition("requeue", uid, reason="Preempted")
        await self.report()


async def crowded(hub: Running, *, tells_nodes: bool = True) -> tuple[Member, list[str]]:
    """Two nodes of 8 cpu with four jobs of 4: the first and the third on n0, the others on n1."""
    member = Member(hub, "c", 8, 8)
    member.tells_nodes = tells_nodes
    await member.report()
    await hub.apply(*in_cohort("a", "100", cohort="", preemption=WITHIN))
    low = await submit(hub, "a", "4", *(f"low{n}" for n in range(4)))
    await hub.settle()
    await start(hub, *low)
    for number, uid in enumerate(low):
        member.on[uid] = (number % 2, 4)
    await member.report()
    return member, low


async def going(hub: Running, uids: list[str]) -> list[str]:
    return [row.uid for row in await hub.jobs(uids) if row.state == "Withdrawing"]


async def affinity(hub: Running, uid: str) -> tuple[Any, Any]:
    """The nodes that a placed job prefers, and those it leaves to others."""
    (found,) = await hub.hub.read(works.of_uids, [uid])
    return found.options.nodes, found.options.other_nodes


async def led_anew(hub: Running) -> None:
    """Another process leads, which has read the store."""
    before = hub.scheduler
    hub.scheduler = Scheduler(hub.hub, before._term)
    await hub.scheduler.load()
