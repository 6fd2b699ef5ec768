"""What an agent of the simulation sees by and speaks through: its clock, its client, its caches."""

import datetime as dt
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from agent.member.observer import Observer
from agent.objects.holds import JOB
from shared import labels
from shared.kube.informer import Informer
from shared.kube.watch import WatchEvent
from tests.simulation.world import Call, World

if TYPE_CHECKING:
    from tests.simulation.agent import Agent

HUB_ID = "hub-1"
_TIMEOUT_S = 30.0
_ENDED = frozenset({"Succeeded", "Failed"})


class Quiet:
    """Stands for meters and for the ledger of amounts: nobody reads them here."""

    def __getattr__(self, _name: str) -> "Quiet":
        return self

    def __call__(self, *_args: Any, **_named: Any) -> "Quiet":
        return self


QUIET: Any = Quiet()


class OwnClock:
    """A clock that runs at its own rate, from its own origin."""

    def __init__(self, world: World, rate: float) -> None:
        self.world, self.rate, self.began = world, rate, world.now
        self._off = dt.timedelta(hours=world.random.uniform(-1.0, 1.0))

    def monotonic(self) -> float:
        return 1000.0 + (self.world.now - self.began) * self.rate

    def instant(self, monotonic: float) -> float:
        """The world's instant at which this clock shows that."""
        return self.began + (monotonic - 1000.0) / self.rate

    def now(self) -> Any:
        return self.world.wall() + self._off

    def step(self, by: dt.timedelta) -> None:
        """Somebody sets it; what runs by monotonic time does not notice."""
        self._off += by

    async def sleep(self, seconds: float) -> None:
        await Call("sleep", seconds / self.rate)


class Client:
    """`KubeClient` as the applier uses it: each request is a `Call`."""

    async def create(self, obj: Any, *, field_manager: str, timeout_s: float = _TIMEOUT_S) -> Any:
        if obj["kind"] == "SelfSubjectAccessReview":
            return await Call("review", timeout_s)
        written = [{"manager": field_manager, "fieldsV1": _owned(obj["metadata"])}]
        metadata = {**obj["metadata"], "managedFields": written}
        return await Call("create", timeout_s, {**obj, "metadata": metadata})

    async def get(self, _version: str, _kind: str, _namespace: str, name: str) -> Any:
        return await Call("get", _TIMEOUT_S, name)

    async def list(
        self, version: str, kind: str, namespace: str | None, selector: str = "", fields: str = "", *,
        slim: Any = None, metadata_only: bool = False,
    ) -> Any:  # fmt: skip
        if kind != "Pod":
            found = await Call("jobs", _TIMEOUT_S)
            items = [
                each for each in found if (each["apiVersion"], each["kind"]) == (version, kind)
            ]
        elif namespace is None:  # those that live, of all jobs
            assert metadata_only
            assert fields
            found = await Call("pods", _TIMEOUT_S, "")
            items = [each for each in found if each["status"].get("phase") not in _ENDED]
        else:
            items = await Call("pods", _TIMEOUT_S, selector.partition("=")[2])
        return SimpleNamespace(items=[slim(each) for each in items] if slim else items)

    async def merge_patch(
        self, _version: str, _kind: str, _namespace: str, name: str, patch: Any, *,
        field_manager: str, timeout_s: float = _TIMEOUT_S,
    ) -> Any:  # fmt: skip
        return await Call("patch", timeout_s, name, patch)

    async def delete(
        self, _version: str, _kind: str, _namespace: str, name: str, *, uid: str | None = None,
        resource_version: str | None = None, propagation: str = "Background",
    ) -> Any:  # fmt: skip
        return await Call("delete", _TIMEOUT_S, name, uid, resource_version, propagation)


def _owned(metadata: Any) -> Any:
    """The entry of a manager that has created an object: its labels and annotations are its own."""
    parts: dict[str, Any] = {
        f"f:{part}": {f"f:{name}": {} for name in metadata.get(part) or ()}
        for part in ("labels", "annotations")
    }
    return {"f:metadata": parts}


CLIENT: Any = Client()


class SimulatedObserver(Observer):
    """The product's caches, filled from the member's log with a lag of their own."""

    def __init__(self, agent: "Agent", listener: Any) -> None:
        super().__init__(CLIENT, HUB_ID, listener, agent.clock)
        self.ledger = QUIET
        self.agent = agent
        self.informers: dict[str, Informer[Any]] = {}
        self.positions: dict[str, int] = {}  # in the log; -1: to be listed
        self.due: set[str] = set()
        jobs: Informer[Any] = Informer(
            CLIENT, *JOB, transform=self._job_view, on_event=self._object, clock=agent.clock
        )
        pods: Informer[Any] = Informer(
            CLIENT, "v1", "Pod", transform=self._pod_view, on_event=self._pod, clock=agent.clock
        )
        self._informers |= dict.fromkeys(agent.member.kinds, jobs)
        self._job_kinds |= set(agent.member.kinds)
        self._all_pods = pods
        for kind, informer in (("Job", jobs), ("Pod", pods)):
            self.informers[kind] = informer
            self.break_off(kind)

    def _job_view(self, job: Any, _previous: Any) -> Any:
        """The whole Job: what is cached is the member's own."""
        self.job_seen(job)
        return job

    def want(self, api_version: str, kind: str) -> None:
        return None

    def live(self, api_version: str, kind: str, namespace: str, name: str) -> Any:
        found = super().live(api_version, kind, namespace, name)
        return found if found is not None and found["kind"] == kind else None

    def break_off(self, kind: str) -> None:
        """The stream is lost and what was missed is too old to be sent: list again."""
        self.positions[kind] = -1
        self.hear(kind)

    def hear(self, kind: str) -> None:
        """Something is in the log: it comes here after a while."""
        if kind in self.due:
            return
        self.due.add(kind)
        agent = self.agent
        lag = agent.world.random.random() * agent.member.lag_s
        agent.world.at(max(agent.world.now + lag, agent.network.deaf[kind]), self._take_in, kind)

    def _take_in(self, kind: str) -> None:
        agent = self.agent
        if agent.dead:
            return
        until = max(agent.network.deaf[kind], agent.network.hangs_until)
        if until > agent.world.now:
            agent.world.at(until, self._take_in, kind)
            return
        self.due.discard(kind)
        log = agent.member.logs[kind]
        informer, position = self.informers[kind], self.positions[kind]
        if position < 0:
            if kind == "Job":
                agent.world.happens("listed", agent.network.name)
            held = agent.member.jobs if kind == "Job" else agent.member.pods
            informer._replace([obj for obj in held.values() if kind == "Pod" or is_ours(obj)])
            if not informer.synced.is_set():
                informer.synced.set()
                if all(each.synced.is_set() for each in self.informers.values()):
                    for key in agent.member.kinds:
                        self._listener.kind_changed(key)
        else:
            for event, obj in log[position:]:
                if kind == "Pod" or is_ours(obj):
                    informer._take(WatchEvent(event, obj))
        self.positions[kind] = len(log)


def is_ours(obj: Any) -> bool:
    """Whether an agent of the hub made an object, by its label."""
    return (obj["metadata"].get("labels") or {}).get(labels.MANAGED_BY) == HUB_ID
