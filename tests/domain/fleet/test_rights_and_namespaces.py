"""What reports of rights and namespaces mean: who takes Jobs, and which namespaces a new report changes."""

import pytest

from hub.domain.fleet.clusters import as_of, changed_for_jobs, changed_namespaces, takes_jobs
from hub.domain.placement.framework import sieve
from hub.domain.placement.never_fits import names_nobody
from hub.domain.placement.registry import FILTERS
from hub.domain.workloads.demand import Constraints
from shared.consent import CREATE_FORBIDDEN
from tests.domain.build import NOW, a_cluster

OF_TEAM = Constraints(consent=("team", "hub-1"))
OPEN = {"team": "Accepted", "other": "NotAccepted"}


def test_no_job_goes_where_its_agent_may_not_create_it() -> None:
    """The rejection names the namespace and the right; Jobs of other namespaces go there."""
    member = a_cluster(jobs_forbidden_in=frozenset({"team"}))
    (verdict,) = sieve(FILTERS, OF_TEAM, [member], NOW).rejected
    assert verdict.rejection.reason == CREATE_FORBIDDEN
    assert "namespace team (403): grant it verb create on jobs.batch" in verdict.rejection.message
    assert sieve(FILTERS, Constraints(consent=("else", "hub-1")), [member], NOW).passed


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        ("NoAnswer", "does not answer (timeout)"),
        ("Unauthorized", "rejects its agent's credential (401)"),
        ("Forbidden", "refuses its agent (403 to its probe)"),
        ("Unheard", "does not answer its agent"),
    ],
)
def test_what_keeps_an_agent_from_its_api_server_is_named(cause: str, words: str) -> None:
    """By the cause that it reports; one that is not known counts as no answer."""
    member = a_cluster(down="timeout", down_cause=cause)
    (verdict,) = sieve(FILTERS, Constraints(), [member], NOW).rejected
    assert words in verdict.rejection.message


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({}, True),
        ({"consent": OPEN}, True),
        ({"consent": {"team": "NotAccepted"}}, False),
        ({"consent": {}}, False),
        ({"consent": OPEN, "jobs_forbidden_in": frozenset({"team"})}, False),
    ],
)
def test_a_namespace_takes_jobs_where_it_accepts_and_its_agent_may(told, expected) -> None:
    """A member that reports no consent accepts all."""
    assert takes_jobs(a_cluster(**told), "team") is expected


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        (None, None, frozenset()),
        (None, {}, None),
        ({}, None, None),
        (OPEN, OPEN, frozenset()),
        (OPEN, {"team": "Accepted"}, frozenset({"other"})),
        (OPEN, {**OPEN, "team": "NotAccepted", "new": "Accepted"}, frozenset({"team", "new"})),
    ],
)
def test_two_reports_change_the_namespaces_that_they_tell_differently(
    before, after, changed
) -> None:
    """Any, where only one of them reports consent."""
    assert changed_namespaces(before, after) == changed
    ours, theirs = a_cluster(consent=before), a_cluster(consent=after)
    assert changed_for_jobs(ours, theirs) == changed


def test_a_right_that_came_or_went_changes_its_namespace() -> None:
    """Beside those whose consent has changed."""
    before = a_cluster(consent=OPEN, jobs_forbidden_in=frozenset({"a", "b"}))
    after = a_cluster(consent={**OPEN, "other": "Accepted"}, jobs_forbidden_in=frozenset({"b"}))
    assert changed_for_jobs(before, after) == {"a", "other"}
    assert changed_for_jobs(None, a_cluster()) == frozenset()


def test_states_of_a_namespace_that_was_made_again_since_do_not_count() -> None:
    """A report of an earlier revision of the names is about the namespace before."""
    member = a_cluster(consent=OPEN, consent_revision=4)
    assert as_of(member, {"team": 4, "unknown": 9}) is member
    assert as_of(member, {"team": 5}).consent == {"other": "NotAccepted"}
    assert as_of(a_cluster(), {"team": 5}).consent is None


def test_clusters_that_do_not_exist_are_named_only_if_none_exists() -> None:
    """One of those named that exists is enough to go on."""
    both = Constraints(clusters=("east", "west"))
    assert not names_nobody(Constraints(), {"east"})
    assert not names_nobody(both, {"west"})
    assert "names east, west, and the fleet has no such cluster" in names_nobody(both, {"north"})
