"""Whoever preempts takes as few as it needs: a full house, one head, each victim spared."""

from typing import Any

from hypothesis import HealthCheck, given, strategies as st

from hub.domain.cycle.attempt import Ending
from hub.offline.inputs import documents, scene
from hub.offline.inputs.settings import settings_of
from hub.offline.play.engine import Engine, engine_of
from tests.examples import examples
from tests.offline.build import FAIR, Q, a_cohort, a_flavor, a_holder, a_queue, a_workload, stamp

QUEUES = ("a", "b", "c")
_NOW = documents.read_instant(stamp())

_quotas = st.builds(
    lambda nominal, limit: Q(nominal, borrowing=limit),
    st.integers(1, 5),
    st.none() | st.integers(2, 6),
)
_within = st.sampled_from(["LowerPriority", "LowerOrNewerEqualPriority", "Never"])
_policies = st.tuples(_quotas, _within, st.sampled_from(["Any", "LowerPriority"]), st.booleans())
_held = st.tuples(st.sampled_from(QUEUES), st.integers(1, 3), st.integers(-1, 1), st.booleans())
_house = st.lists(_held, min_size=9, max_size=16)


@st.composite
def engines(draw: st.DrawFn) -> Engine:
    """Three queues below one root, two of them in a cohort of their own, that hold what they can."""
    own = draw(st.integers(0, 2))
    listed: list[Any] = [a_flavor(), a_cohort("root", own)]
    listed.append(a_cohort("left", parent="root"))
    free = own
    for name in QUEUES:
        quota, within, reclaim, borrow = draw(_policies)
        free += quota.nominal
        listed += a_queue(
            name, quota, "root" if name == "c" else "left", within=within, reclaim=reclaim,
            borrow={"policy": "LowerPriority"} if borrow else None,
        )  # fmt: skip
    for number, (queue, cpu, prio, evicted) in enumerate(draw(_house)):
        if cpu <= free:
            free -= cpu
            listed.append(
                a_holder(f"h{number:02}", queue, cpu, prio=prio, evicted=evicted, since=-number)
            )
    asked, queue = draw(st.integers(1, 5)), draw(st.sampled_from(QUEUES))
    listed.append(a_workload("new", queue, asked, prio=draw(st.integers(0, 2)), age=90))
    read = [documents.read_document("scene", n, m) for n, m in enumerate(listed, start=1)]
    given_settings = draw(st.sampled_from([{}, FAIR]))
    return engine_of(scene.build(read, settings_of(given_settings), _NOW))


@examples(200, suppress_health_check=[HealthCheck.too_slow])
@given(engines())
def test_a_preemptor_fits_without_its_victims_and_not_with_any_of_them(engine: Engine) -> None:
    """All victims gone it fits; were one of them spared it would not, or would have to borrow for it."""
    (attempt,) = engine.round(_NOW)
    assert attempt.ending is not Ending.SKIPPED, "its own victims do not make room for it"
    if attempt.ending is not Ending.PREEMPTING:
        return
    quota_state = engine.quota_state
    tree, node = quota_state.tree, quota_state.node(attempt.who.queue)
    holders = [quota_state.holder(v.holder.queue, v.holder.uid) for v in attempt.victims]

    def outcome(gone: list[Any]) -> tuple[bool, bool]:
        with quota_state.without(gone):
            borrows = any(tree.borrows(node, of, n) for of, n in attempt.usage.items())
            return tree.fits(node, attempt.usage), borrows

    fits, borrowing = outcome(holders)
    assert fits
    for spared in holders:
        fits, borrows = outcome([h for h in holders if h is not spared])
        assert not fits or (borrows and not borrowing), f"{spared.uid} need not go"
