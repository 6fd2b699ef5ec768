"""What holds of any history: random trees, loads and policies, played to their end."""

from collections import Counter
from typing import Any

from hypothesis import HealthCheck, given, strategies as st

from hub.domain.cycle.attempt import Ending
from hub.offline.inputs import documents, scene
from hub.offline.inputs.settings import settings_of
from hub.offline.loads.load import Arrival, Kind, Load, pod_set
from hub.offline.play.timeline import Timeline
from hub.offline.reports import decisions
from tests.examples import Contents, examples, sample
from tests.offline.build import Q, a_cohort, a_flavor, a_queue, a_workload, stamp

_NOW = documents.read_instant(stamp())
_QUEUES = ("a", "b", "c", "d")
_amount = st.integers(0, 9)
_limit = st.none() | st.integers(0, 6)
_never_or = st.sampled_from


@st.composite
def quotas(draw: st.DrawFn) -> Q:
    """A nominal quota with limits, or without; no more is lent than there is."""
    nominal = draw(_amount)
    return Q(nominal, draw(_limit), draw(st.none() | st.integers(0, nominal)))


@st.composite
def trees(draw: st.DrawFn) -> list[Any]:
    """Four queues below two cohorts below one root, with limits and policies as they come."""
    listed: list[Any] = [a_flavor(), a_cohort("root", draw(_amount))]
    listed += [a_cohort(name, draw(quotas()), "root") for name in ("left", "right")]
    for number, name in enumerate(_QUEUES):
        borrow = draw(st.sampled_from([None, {"policy": "LowerPriority"}]))
        reclaim = draw(_never_or(["Never", "LowerPriority", "Any"]))
        listed += a_queue(
            name,
            draw(quotas()),
            ("left", "right")[number % 2],
            within=draw(_never_or(["Never", "LowerPriority", "LowerOrNewerEqualPriority"])),
            reclaim=reclaim,
            borrow=borrow if reclaim != "Never" else None,
            queueingStrategy=draw(st.sampled_from(["BestEffortFIFO", "StrictFIFO"])),
        )
    return listed


@st.composite
def loads(draw: st.DrawFn) -> Load:
    """Six to fourteen workloads of all sizes and priorities, so close that they meet."""
    load = Load()
    for number in range(draw(st.integers(6, 14))):
        kind = Kind(
            "any",
            draw(st.integers(-1, 2)),
            draw(st.integers(5, 30)) * 1_000_000,
            (pod_set({"cpu": draw(st.integers(1, 6)) * 1000}, 1),),
        )
        at = draw(st.integers(0, 20)) * 1_000_000
        load.arrivals.append(
            Arrival(at, f"w{number:02}", "ns", draw(st.sampled_from(_QUEUES)), kind)
        )
    load.sort()
    return load


_configurations = st.sampled_from(
    [{}, {"fairSharing": {"enable": True}},
     {"fairSharing": {"enable": True, "preemptionStrategies": ["LessThanInitialShare"]}}]
)  # fmt: skip


def _scene(listed: list[Any], given_settings: dict[str, Any]) -> scene.Scene:
    read = [documents.read_document("scene", n, m) for n, m in enumerate(listed, start=1)]
    return scene.build(read, settings_of(given_settings), _NOW)


class _Watched(Timeline):
    """A timeline that looks at every round as it is played."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.passed_heads = 0
        self.beyond: list[str] = []
        self.needless: list[str] = []

    def play_round(self, now: int) -> list[Any]:
        strict = [name for name, queue in self.scene.queues.items() if queue.strict]
        first = {name: self._first(name) for name in strict}
        attempts = super().play_round(now)
        for attempt in attempts:
            if attempt.ending is Ending.ADMITTED and attempt.who.queue in first:
                self.passed_heads += attempt.who.uid != first[attempt.who.queue]
            if attempt.ending is Ending.PREEMPTING:
                self.needless += self._needless(attempt)
        self._check_usage()
        return attempts

    def _first(self, queue: str) -> str:
        head = self.engine.waiting.waiting.head(queue)
        return "" if head is None else head.first(1)[0].uid

    def _needless(self, attempt: Any) -> list[str]:
        """Victims without which the preemptor would have fitted all the same."""
        quota_state = self.engine.quota_state
        node = quota_state.node(attempt.who.queue)
        found = []
        holders = [quota_state.holder(v.holder.queue, v.holder.uid) for v in attempt.victims]
        for spared in holders:
            rest = [h for h in holders if h is not spared]
            with quota_state.without(rest):
                fits = quota_state.tree.fits(node, attempt.usage)
                over = any(
                    quota_state.tree.borrows(node, of, n) for of, n in attempt.usage.items()
                )
                if fits and not over:
                    found.append(spared.uid)
        return found

    def _check_usage(self) -> None:
        tree = self.engine.quota_state.tree
        charged: Counter[Any] = Counter()
        for holder in self.engine.quota_state.all_holders():
            for of, amount in holder.usage.items():
                charged[holder.queue, of] += amount
        for name, node in tree.queues.items():
            for of, used in tree.usage(name).items():
                assert used == charged[name, of], "usage is not the sum of what is charged"
                if used > node.potential.get(of, 0):
                    self.beyond.append(name)


_SETTINGS = examples(120, suppress_health_check=[HealthCheck.too_slow])


def test_many_histories_have_preemptions() -> None:
    """The rules below have something to say: in at least one of seven histories somebody goes."""
    contents = Contents()

    @sample(100, suppress_health_check=[HealthCheck.too_slow])
    @given(trees(), loads(), _configurations)
    def play(listed: list[Any], load: Load, given_settings: dict[str, Any]) -> None:
        contents.note(_Watched(_scene(listed, given_settings), load).run().preemptions)

    play()
    assert contents.are_in(0.15), contents.seen


@_SETTINGS
@given(trees(), loads(), _configurations)
def test_any_history_keeps_the_rules(
    listed: list[Any], load: Load, given_settings: dict[str, Any]
) -> None:
    """Usage is the sum of what is charged and never beyond potential; no needless victims; strict order;
    no two workloads evict each other twice; all that is finished has given everything back.
    """
    line = _Watched(_scene(listed, given_settings), load)
    history = line.run()
    assert line.beyond == []
    assert line.passed_heads == 0
    assert line.needless == []
    pairs = Counter((p.by, p.uid) for p in history.preemptions)
    assert not [(x, y) for x, y in pairs if min(pairs[x, y], pairs[y, x]) > 1]
    assert not any(
        any(each) for used in line.engine.quota_state.tree.used for each in used.values()
    )
    assert len(history.lives) == len(load.arrivals)


@_SETTINGS
@given(trees(), loads(), _configurations, st.randoms(use_true_random=False))
def test_input_in_any_order_gives_the_same_plan(
    listed: list[Any], load: Load, given_settings: dict[str, Any], order: Any
) -> None:
    """Documents in another order: the same decisions, to the letter."""
    waiting = [
        a_workload(
            a.name, a.local_queue, f"{a.kind.pod_sets[0].requests['cpu']}m",
            prio=a.kind.priority, age=a.at / 1e6,
        )
        for a in load.arrivals
    ]  # fmt: skip
    documents_ = [*listed, *waiting]
    shuffled = list(documents_)
    order.shuffle(shuffled)
    one = decisions.cycle_report(_scene(documents_, given_settings), 3)
    other = decisions.cycle_report(_scene(shuffled, given_settings), 3)
    assert one == other
