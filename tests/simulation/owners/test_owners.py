"""Seeds of three owners, that one tells the same story again, and that the ledger finds faults."""

import pytest

import agent.member.abandon as leaving
from agent.member.acceptance import Space
from agent.member.consent import Consent
from tests.simulation import runner
from tests.simulation.owners.run import OwnersRun


@pytest.fixture(autouse=True)
def _quiet():
    runner.quiet()


def played(seed):
    return runner.play(OwnersRun.draw(seed), kind=OwnersRun)


def test_no_seed_breaks_an_invariant_of_three_owners():
    """No foreign object is deleted or changed without consent, no value leaves, nothing is left behind."""
    found = [played(seed) for seed in (1, 2)]
    assert [(each.seed, each.invariant, each.text) for each in found if each.invariant] == []
    assert sum(each.steps for each in found) > 40
    again = played(2)  # time, dice and the order of everything come from the seed
    assert again == found[1]


def test_a_take_over_without_consent_is_found(monkeypatch):
    """The ledger knows consent from the member's store, and judges each change of a foreign object by it."""

    async def covers(_self, _live):
        return True

    monkeypatch.setattr(Consent, "covers", covers)
    assert played(16).invariant == "O-1"


def test_a_release_that_leaves_marks_is_found(monkeypatch):
    """At rest no object that others created carries a mark that an agent wrote."""
    whole = vars(leaving)["abandon_patch"]

    def half(live):
        patch = whole(live)
        patch["metadata"].pop("labels", None)
        return patch

    monkeypatch.setattr(leaving, "abandon_patch", half)
    assert played(7).invariant == "O-4"


def test_a_job_where_those_of_an_earlier_namespace_were_is_found(monkeypatch):
    """The ledger knows how often a namespace of the hub was made again, and where its Jobs were before."""
    judged = Space.state
    monkeypatch.setattr(Space, "state", lambda self, _wanted: judged(self, None))
    assert played(2).invariant == "O-5"
