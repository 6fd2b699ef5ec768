"""Playing rounds on a scene: from records to the latest decision for everyone who waits."""

from dataclasses import dataclass, field, replace

from hub.domain.admission.flavors import FlavorCatalog
from hub.domain.cycle.attempt import Attempt, Ending
from hub.domain.cycle.rounds import Rounds
from hub.domain.plan import Reason
from hub.domain.queueing import eligibility
from hub.domain.queueing.eligibility import Hold
from hub.domain.quota.holders import AdmittedWorkload, PendingWorkload, QuotaState
from hub.domain.quota.usage_history import Ranks
from hub.offline.inputs.scene import Scene
from hub.offline.play.fleet import DeclaredFleet
from hub.offline.play.waiting import SceneQueues
from shared.resources import PodSet


@dataclass(slots=True, eq=False)
class Engine:
    """Everything that a run of rounds needs, and who is kept out of them."""

    rounds: Rounds
    quota_state: QuotaState
    waiting: SceneQueues
    ranks: Ranks | None
    fleet: DeclaredFleet | None
    held: dict[str, Hold] = field(default_factory=dict)  # uid → why its turn can not come

    def hold(self, scene: Scene, who: PendingWorkload) -> Hold | None:
        """The reason why a workload can have no turn; None where it can."""
        return eligibility.held_back(who, scene.may_admit(who), scene.now)

    def holder(self, who: PendingWorkload) -> AdmittedWorkload:
        """A workload that was admitted, as it holds quota now."""
        return self.quota_state.holder(who.queue, who.uid)

    def round(self, now: int) -> list[Attempt]:
        """One round; what is admitted counts against its LocalQueue at once."""
        self.waiting.line_up()
        attempts = self.rounds.run(now)
        for attempt in attempts:
            self.waiting.settle(attempt)
        if self.ranks is not None:
            for attempt in attempts:
                if attempt.ending is Ending.ADMITTED:
                    local_queue = f"{attempt.who.namespace}/{attempt.who.local_queue}"
                    self.ranks.penalise(local_queue, attempt.usage)
        return attempts


def engine_of(scene: Scene) -> Engine:
    """The engine on a scene, before its first round."""
    settings = scene.settings
    ranks = None
    if settings.history is not None:
        ranks = Ranks(settings.history, scene.consumed, scene.weights)
    quota_state = QuotaState(
        scene.tree(), scene.queues, scene.policies, scene.holders, ranks.values if ranks else None,
        inactive=scene.inactive.keys(),
    )  # fmt: skip
    catalog = FlavorCatalog(scene.flavors, _AnyKey())
    fleet = None
    if scene.clusters is not None:
        pods = {uid: _running_pods(scene, uid) for uid in scene.pod_sets}
        fleet = DeclaredFleet(scene.clusters, catalog, scene.holders, pods, scene.now)
    by_history = {name: policy.by_usage for name, policy in scene.policies.items()}
    values = ranks.values if ranks else None
    waiting = SceneQueues(
        scene.queues, {name: values if by_history[name] else None for name in scene.queues}
    )
    rules = replace(settings.rules, limits=replace(settings.rules.limits, now=scene.now))
    rounds = Rounds(
        quota_state, waiting.turns, catalog, rules, scene.namespaces, fleet, scene.groups
    )
    engine = Engine(rounds, quota_state, waiting, ranks, fleet)
    _line_up(scene, engine)
    return engine


class _AnyKey(dict[str, int]):
    """Every node label key is known to pools that were declared, not reported."""

    def get(self, key: str, default: int | None = None) -> int:  # type: ignore[override]  # total
        return 0


def _running_pods(scene: Scene, uid: str) -> tuple[PodSet, ...]:
    document = scene.pod_sets[uid]
    counts = {
        str(a.get("name") or "main"): int(a.get("count") or 0)
        for a in document.objects("status", "admission", "podSetAssignments")
    }
    return tuple(replace(p, count=counts.get(p.name) or p.count) for p in document.parsed.pod_sets)


def _line_up(scene: Scene, engine: Engine) -> None:
    by_queue: dict[str, list[PendingWorkload]] = {}
    for who in scene.pending:
        hold = engine.hold(scene, who)
        if hold is None:
            by_queue.setdefault(who.queue, []).append(who)
        else:
            engine.held[who.uid] = hold
    for those in by_queue.values():
        engine.waiting.add(those)
    engine.waiting.line_up()


def play(scene: Scene, rounds: int) -> tuple[Engine, list[Attempt | tuple[PendingWorkload, Hold]]]:
    """Up to `rounds` rounds; for everyone who waits the last attempt, or why there was none."""
    engine = engine_of(scene)
    latest: dict[str, Attempt] = {}
    for _ in range(rounds):
        attempts = engine.round(scene.now)
        if not attempts:
            break
        latest.update((attempt.who.uid, attempt) for attempt in attempts)
    told: list[Attempt | tuple[PendingWorkload, Hold]] = []
    for who in scene.pending:
        attempt = latest.get(who.uid)
        told.append(attempt or (who, engine.held.get(who.uid, _TURN)))
    return engine, told


_TURN = Hold(Reason.NOT_CONSIDERED, "its turn did not come")
