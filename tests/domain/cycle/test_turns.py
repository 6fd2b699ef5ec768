"""What a round leaves to the next: flavors, reservations, victims, equals."""

from dataclasses import replace
from typing import Any

import pytest

from hub.domain.queueing.requeue import Outcome, Where
from tests.offline.build import (
    INSTANT,
    Played,
    Q,
    a_flavor,
    a_holder,
    a_queue,
    a_workload,
    engine_on,
    play,
    pods,
)

_TWO = [a_flavor("f1"), a_flavor("f2")]


def _a_race(rounds: int) -> Played:
    """x reserves what it may not take back; a, which borrows, loses the race for flavor f1."""
    return play(
        _TWO,
        a_queue("x", {"f1": 4}, "all"),
        a_queue("y", {"f1": 4, "f2": 0}, "all"),
        a_queue("a", {"f1": 0, "f2": 4}, "all"),
        a_holder("hx", "x", 2, flavor="f1"),
        a_holder("hy", "y", 4, flavor="f1"),
        a_workload("wx", "x", 4, prio=9),
        a_workload("wa", "a", 2),
        rounds=rounds,
    )  # fmt: skip


def test_a_skipped_head_goes_on_with_the_next_flavor() -> None:
    """How far a head has come among its flavors is kept when it loses a race."""
    # what x has reserved in f1 is free again once the round is over, but a looks at f2 first
    first = _a_race(1)
    assert first.verdict("wx") == ("pending", "parked")
    assert first.verdict("wa") == ("skipped", "heap")
    second = _a_race(2)
    assert second.verdict("wa")[0] == "admitted"
    assert second.flavor("wa") == "f2"


def test_a_strict_head_that_lost_a_race_starts_its_scan_over() -> None:
    """Without a flavor behind the one that it lost, the head looks at the first again, and preempts."""
    scene = [
        _TWO,
        *(
            a_queue(
                n, {"f1": 3, "f2": 0}, "all", within="LowerPriority", queueingStrategy="StrictFIFO"
            )
            for n in ("s0", "s1")
        ),
        a_holder("low", "s0", 1, flavor="f1", prio=-1),
        a_workload("w0", "s0", 3, prio=9),
        a_workload("w1", "s1", 3, prio=9),
    ]
    assert play(*scene, rounds=1).verdict("w0") == ("skipped", "heap")  # s1 does not borrow
    assert play(*scene, rounds=2).verdict("w0") == ("pending", "heap")  # nothing fits f2
    third = play(*scene, rounds=3)
    assert third.verdict("w0") == ("preempting", "heap")
    assert third.victims("w0") == {"low": "InClusterQueue"}


@pytest.mark.parametrize(
    ("nominal", "used", "asked", "kept"),
    [
        (Q(4), 0, 4, 4),  # inside nominal: min(4, 4 - 0)
        (Q(4), 1, 2, 2),  # min(2, 4 - 1)
        (Q(4, 3), 2, 3, 3),  # borrowing: min(3, 4 + 3 - 2)
        (Q(4, 1), 3, 3, 2),  # borrowing: min(3, 4 + 1 - 3)
        (Q(4), 3, 3, 3),  # borrowing without a limit: all of it
    ],
)
def test_what_a_head_without_candidates_keeps(
    nominal: Q, used: int, asked: int, kept: int
) -> None:
    """Step 5c: it keeps min(request, nominal - usage), borrowing up to its limit, from borrowers."""
    cpu, memory = "cpu", "memory"
    for more, verdict in ((20 - kept, "admitted"), (20 - kept + 1, "skipped")):
        # cpu is what it is short of; memory lies in z, 20 beyond what is used, for the borrower
        played = play(
            a_queue("x", {"default": {cpu: 1, memory: nominal}}, "all"),
            a_queue("z", {"default": {cpu: 0, memory: 20 + used - nominal.nominal}}, "all"),
            a_queue("b", {"default": {cpu: 0, memory: 0}}, "all"),
            a_holder("hx", "x", {cpu: 0, memory: used}),
            a_holder("hz", "z", {cpu: 1, memory: 0}),
            a_workload("wx", "x", pod_sets=[pods({cpu: 1, memory: asked})], prio=1),
            a_workload("wb", "b", more, resource=memory),
        )
        assert played.verdict("wx") == ("pending", "parked")
        assert played.verdict("wb")[0] == verdict, (more, kept)


def test_overlapping_heads_look_for_other_victims() -> None:
    """With the first choice claimed by an earlier head, the next takes others if there are any."""
    played = play(
        a_queue("a", 4, "all", reclaim="Any"),
        a_queue("b", 4, "all", reclaim="Any"),
        a_queue("c", 0, "all"),
        a_holder("c1", "c", 4, since=-60),
        a_holder("c2", "c", 4, since=-30),
        a_workload("wa", "a", 4, age=10),
        a_workload("wb", "b", 4, age=5),
    )
    assert played.victims("wa") == {"c2": "InCohortReclamation"}
    assert played.victims("wb") == {"c1": "InCohortReclamation"}


def test_looking_again_keeps_the_flavor() -> None:
    """What an overlapping head is recomputed for is the flavor it was nominated with."""
    # MayStopSearch stops wb at f1, whose victim is wa's; f2 is free, but for its next turn.
    policy: dict[str, Any] = {
        "reclaim": "Any",
        "flavorFungibility": {"whenCanPreempt": "MayStopSearch"},
    }
    played = play(
        _TWO,
        a_queue("a", {"f1": 4, "f2": 0}, "all", **policy),
        a_queue("b", {"f1": 4, "f2": 4}, "all", **policy),
        a_queue("c", {"f1": 0, "f2": 0}, "all"),
        a_holder("c1", "c", 8, flavor="f1"),
        a_workload("wa", "a", 4, age=10),
        a_workload("wb", "b", 4, age=5),
    )
    assert played.victims("wa") == {"c1": "InCohortReclamation"}
    assert played.verdict("wb") == ("skipped", "heap")


def test_a_closed_gate_is_no_refusal_of_a_flavor() -> None:
    """Who may not preempt has not failed on its flavors: it is parked, and begins with the first again."""
    policy: dict[str, Any] = {"flavorFungibility": {"whenCanPreempt": "MayStopSearch"}}
    played = play(
        _TWO,
        a_queue("q", {"f1": 2, "f2": 2}, within="LowerPriority", **policy),
        a_holder("h1", "q", 2, flavor="f1"),
        a_holder("h2", "q", 2, flavor="f2"),
        a_workload("w", "q", 2, prio=1, preemptionGates=[{"name": "gate"}]),
    )
    assert played.verdict("w") == ("pending", "parked")


def test_equals_of_what_was_refused_have_no_turn() -> None:
    """1.2 (d): NoFit parks the equals behind the head too; the next turn is another one's."""
    scene = (
        a_queue("q", 2),
        [a_workload(f"big{n}", "q", 3, age=90 - n) for n in range(5)],
        a_workload("small", "q", 1, age=1),
    )
    assert play(*scene, rounds=1).admitted() == set()
    assert play(*scene, rounds=2).admitted() == {"small"}


def test_a_strict_head_blocks_its_queue_in_every_round() -> None:
    """StrictFIFO: what does not fit is popped again each round, and nothing behind it has a turn."""
    played = play(
        a_queue("q", 2, queueingStrategy="StrictFIFO"),
        a_workload("big", "q", 3, age=9),
        a_workload("small", "q", 1, age=1),
        rounds=5,
    )
    assert played.verdict("big") == ("pending", "heap")
    assert played.of("small")["reason"] == "NotConsidered"
    assert played.of("small")["requeue"] is None


def test_a_head_whose_victims_are_taken_keeps_its_quota_from_borrowers() -> None:
    """With its victims another's and no others left, a head is parked and reserves what is its own."""
    played = play(
        a_queue("alpha", 3, "all", reclaim="Any"),
        a_queue("beta", 3, "all", reclaim="LowerPriority"),
        (a_queue(name, 0, "all") for name in ("gamma", "delta", "epsilon")),
        a_holder("g1", "gamma", 2),
        a_holder("d1", "delta", 2, prio=5),
        a_holder("b1", "beta", 1, prio=5),
        a_workload("a", "alpha", 2, prio=2),
        a_workload("b", "beta", 2, prio=1),
        a_workload("c", "epsilon", 1),
    )
    assert played.victims("a") == {"g1": "InCohortReclamation"}
    assert played.verdict("b") == ("pending", "parked")
    assert played.of("b")["reason"] == "WaitingForQuota"
    assert played.verdict("c") == ("skipped", "heap")


def test_a_head_that_fits_once_anothers_victims_are_gone_goes_first_in_its_queue() -> None:
    """A head deferred though it fits waits for preemption: it stands before whoever comes later."""
    scene = (
        a_queue("a", 4, "all", reclaim="Any"),
        a_queue("b", 4, "all", reclaim="Any"),
        a_queue("c", 0, "all"),
        a_holder("c1", "c", 8),
        a_workload("wa", "a", 4, age=10),
        a_workload("wb", "b", 4, age=5),
    )
    engine = engine_on(*scene)
    attempts = {a.who.name: a for a in engine.round(INSTANT)}
    assert attempts["wb"].ending == "skipped"
    assert attempts["wb"].outcome is Outcome.PENDING_PREEMPTION
    assert [holder.name for holder in attempts["wb"].awaited] == ["c1"]
    later = replace(attempts["wb"].who, uid="later", name="later", priority=9, demand=None)
    engine.waiting.add([later])
    engine.waiting.line_up()
    head = engine.waiting.turns["b"].pop()
    assert head is not None
    assert head.name == "wb"


def test_the_first_pod_set_that_fails_says_why() -> None:
    """Of several pod sets without flavor the first gives the reason."""
    two = [pods(3, name="one"), pods(1, name="two", nodeSelector={"zone": "elsewhere"})]
    played = play(
        a_flavor("f", nodeLabels={"zone": "here"}),
        a_queue("q", {"f": 2}),
        a_workload("w", "q", pod_sets=two),
        a_workload("other", "q", pod_sets=two[::-1], age=-1),
        rounds=2,
    )
    assert played.of("w")["reason"] == "ExceedsMaxQuota"
    assert played.of("other")["reason"] == "NoMatchingFlavor"


def test_a_head_that_stopped_in_the_middle_goes_on_from_there() -> None:
    """The search remembers the flavor at which it stopped, not whether it was the last but one."""
    elsewhere: dict[str, Any] = {"nodeSelector": {"zone": "y"}}
    played = play(
        a_flavor("f1", nodeLabels={"zone": "x"}), a_flavor("f2"), a_flavor("f3"),
        a_queue("x", {"f2": 4}, "all"), a_queue("y", {"f2": 4}, "all"),
        a_queue("a", {"f1": 4, "f2": 0, "f3": 4}, "all"),
        a_holder("hx", "x", 2, flavor="f2"), a_holder("hy", "y", 4, flavor="f2"),
        a_workload("wx", "x", 4, prio=9),
        a_workload("wa", "a", pod_sets=[pods(2, **elsewhere)]),
        rounds=2,
    )  # fmt: skip
    assert played.verdict("wa")[0] == "admitted"
    assert played.flavor("wa") == "f3"


def test_after_the_last_flavor_the_search_begins_anew() -> None:
    """Who was refused by the last flavor is parked, and looks at all of them in its next turn."""
    engine = engine_on(
        _TWO,
        a_queue("q", {"f1": 2, "f2": 2}),
        a_holder("h1", "q", 2, flavor="f1"),
        a_holder("h2", "q", 2, flavor="f2"),
        a_workload("w", "q", 2),
    )
    (refused,) = engine.round(INSTANT)
    assert refused.where is Where.PARKED
    engine.quota_state.remove(engine.quota_state.holder("q", "h1"))
    engine.waiting.wake("q")
    (admitted,) = engine.round(INSTANT)
    assert admitted.search.assignment is not None
    assert admitted.search.assignment.pod_sets[0].flavors == (("cpu", "f1"),)


def test_a_preemptor_sticks_to_the_head_until_its_victims_are_gone() -> None:
    """Higher priorities that come later do not pass a best-effort preemptor; victims stay charged."""
    played = play(
        a_queue("q", 2, within="LowerPriority"),
        a_holder("low", "q", 2, prio=-1),
        a_workload("new", "q", 2),
        rounds=3,
    )
    assert played.verdict("new") == ("preempting", "heap")
    assert played.victims("new") == {"low": "InClusterQueue"}


def test_untried_flavors_are_tried_in_the_next_round() -> None:
    """A head that lost its first flavor to another goes on with the next one."""
    one_each = {"uno": 1, "due": 1}
    played = play(
        a_flavor("uno"),
        a_flavor("due"),
        a_queue("a", one_each, "all"),
        a_queue("b", {"uno": 0, "due": 1}, "all"),
        a_holder("h", "b", 1, flavor="due"),
        a_workload("wa", "a", age=9),
        a_workload("wb", "b"),
        rounds=2,
    )
    assert played.admitted() == {"wa", "wb"}
    assert (played.flavor("wa"), played.flavor("wb")) == ("uno", "due")
