"""Decisions in words: the numbers of each term, and what broke a tie."""

import pytest

from hub.domain.placement import because
from hub.domain.plan import Score, TermScore

ROOM = (TermScore("in-use-after", 10_000, 9900, 0.01), TermScore("wait", -10_000, 0, None))


def test_a_balanced_choice_tells_its_numbers() -> None:
    """The share in use after placing, and what runs there; a wait only where it is known."""
    assert because.chosen(Score("m", 9900, ROOM, running=3)) == (
        "score 9900: 1.00% in use once it is placed (9900), 3 running"
    )
    waits = (ROOM[0], TermScore("wait", -10_000, -5000, 90.0))
    assert "90 s until its start (-5000)" in because.chosen(Score("m", 4900, waits, running=0))


def test_a_lower_score_is_not_high_enough() -> None:
    """Only a lower score is called too low."""
    told = because.not_chosen(Score("n", 9800, ROOM, running=0), Score("m", 9900, ROOM, running=0))
    assert told.startswith("score 9800 is not high enough: ")


def test_a_tie_is_called_a_tie() -> None:
    """Equal scores name the winner and what decided: the fewest running, then the hash."""
    best = Score("m", 50, ROOM, running=1)
    by_running = because.not_chosen(Score("n", 50, ROOM, running=4), best)
    assert by_running.startswith(
        "tied at 50 with m; the tie is broken by fewest running jobs (1 against 4)"
    )
    by_hash = because.not_chosen(Score("n", 50, ROOM, running=1), best)
    assert by_hash.startswith(
        "tied at 50 with m; the tie is broken by a stable hash of job and cluster"
    )


def test_kubefleets_ties_go_to_the_larger_name() -> None:
    """Under a placement's sorters a tie is broken by name, and said so."""
    told = because.not_chosen(Score("a", 50), Score("b", 50))
    assert told == (
        'Cluster "a" was not picked: tied at 50 with b; the tie is broken by the larger name '
        "(affinity score: 50, topology spread score: 0)"
    )


def test_kubefleets_choice_is_told_in_its_words() -> None:
    """Both scores; a lower one is not high enough, and a tie is one of both."""
    best = Score("b", 50, topology=1)
    assert because.chosen(best) == (
        'Successfully scheduled resources for placement in "b" '
        "(affinity score: 50, topology spread score: 1): picked by scheduling policy"
    )
    assert because.not_chosen(Score("a", 50, topology=0), best) == (
        'Cluster "a" was not picked: its score is not high enough '
        "(affinity score: 50, topology spread score: 0)"
    )


@pytest.mark.parametrize(
    ("term", "words"),
    [
        (TermScore("in-use-after", 10_000, 12, 0.12345), "12.35% in use once it is placed (12)"),
        (TermScore("jobs-that-fit", 10_000, 9, 1.9), "no other such job fits (9)"),
        (TermScore("jobs-that-fit", 10_000, 9, 2.0), "2 such jobs fit (9)"),
        (TermScore("jobs-that-fit", 10_000, 9, 7.6), "8 such jobs fit (9)"),
        (TermScore("wait", -10_000, -5, 29.6), "30 s until its start (-5)"),
        (TermScore("labels", 100_000, -7, None), "preferred by label (-7)"),
        (TermScore("labels", 100_000, 0, None), ""),
        (TermScore("wait", -10_000, 0, None), ""),
        (TermScore("jobs-that-fit", 10_000, 9, None), ""),
        (TermScore("unheard", 1, 1, 1.0), ""),
    ],
)
def test_each_term_in_words(term: TermScore, words: str) -> None:
    """What is not known, and a label that does not match, is not told."""
    told = because.chosen(Score("m", 1, (term,), running=2))
    assert told == f"score 1: {words + ', ' if words else ''}2 running"
