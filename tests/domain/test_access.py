"""Who may do what where: the table of roles, and what holds of every set of bindings."""

import pytest
from hypothesis import given, strategies as st

from hub.domain.access import (
    EVERYTHING,
    Area,
    Grant,
    Noun,
    Rights,
    Role,
    RoleBinding,
    Scope,
    Verb,
    VerifiedIdentity,
    least,
    rights_of,
    unenforceable,
)

NAMES = st.sampled_from(["a", "ab", "a-b", "A", "b", ""])
SOME = st.frozensets(NAMES, min_size=1, max_size=3)
AREAS = st.builds(Area, st.none() | SOME, st.none() | SOME)
GRANTS = st.builds(Grant, st.sampled_from(Role), AREAS)
RIGHTS = st.builds(Rights, st.just("ann"), st.lists(GRANTS, max_size=4).map(tuple))
ASKED = (st.sampled_from(Verb), st.sampled_from(Noun))
JOBS_OF_ANN = {"viewer": "", "submitter": "own", "batch-administrator": "any"}


@pytest.mark.parametrize(
    ("role", "may"),
    [
        ("viewer", {"get jobs", "get queues", "get objects", "get placements", "get drift", "get events"}),
        ("submitter", {"create jobs"}),
        ("batch-administrator", {"create queues", "change queues", "get audit"}),
    ],
)  # fmt: skip
def test_each_role_adds_to_the_one_before(role, may):
    """In one namespace, of what somebody else owns."""
    order = list(Role)
    found = [
        {
            f"{verb} {noun}"
            for verb in Verb
            for noun in Noun
            if Rights("ann", (Grant(each, Area(frozenset({"n"}))),)).allows(
                verb, noun, "n", owner="ben"
            )
        }
        for each in order
    ]
    place = order.index(Role(role))
    before = found[place - 1] if place else set()
    changes = {"change jobs"} if role == "batch-administrator" else set()
    assert found[place] - before == may | changes
    assert before <= found[place]


def test_quota_is_declared_by_batch_administrators_of_all_namespaces():
    """ClusterQueues are of no namespace: a role in one, or for one queue, is none for them."""
    role = Role.BATCH_ADMINISTRATOR
    for area, allowed in (
        (Area(), True),
        (Area(frozenset({"n"})), False),
        (Area(None, frozenset({"q"})), False),
    ):
        rights = Rights("ann", (Grant(role, area),))
        assert rights.allows(Verb.CREATE, Noun.QUOTAS) is allowed
        assert rights.allows(Verb.CHANGE, Noun.QUOTAS) is allowed
    assert not Rights("ann", (Grant(Role.SUBMITTER),)).allows(Verb.CHANGE, Noun.QUOTAS)


@pytest.mark.parametrize("verb", Verb)
@pytest.mark.parametrize("noun", Noun)
def test_the_smallest_role_is_named_that_allows_it(verb, noun):
    """It does, everywhere, to what is one's own; none before it does."""
    named = least(verb, noun)
    allowing = [
        role for role in Role if Rights("ann", (Grant(role),)).allows(verb, noun, "n", "q", "ann")
    ]
    assert allowing[0] == named


@pytest.mark.parametrize(("role", "whose"), JOBS_OF_ANN.items())
def test_whose_jobs_a_role_changes(role, whose):
    """A viewer nobody's, a submitter their own, a batch administrator anybody's."""
    rights = Rights("ann", (Grant(Role(role), Area(frozenset({"n"}))),))
    own = rights.allows(Verb.CHANGE, Noun.JOBS, "n", "q", "ann")
    other = rights.allows(Verb.CHANGE, Noun.JOBS, "n", "q", "ben")
    assert {"": (False, False), "own": (True, False), "any": (True, True)}[whose] == (own, other)


def test_names_are_compared_exactly():
    """Neither a prefix nor another spelling, of users, groups and namespaces."""
    binding = RoleBinding(
        "x", Role.VIEWER, frozenset({"ann"}), frozenset({"team"}), frozenset({"ns"})
    )
    for name, groups in (
        ("an", ()),
        ("anna", ()),
        ("Ann", ()),
        ("x", ("tea",)),
        ("x", ("team ",)),
    ):
        assert rights_of(VerifiedIdentity(name, frozenset(groups)), [binding]).grants == ()
    found = rights_of(VerifiedIdentity("ben", frozenset({"team"})), [binding])
    assert found.allows(Verb.GET, Noun.JOBS, "ns")
    for namespace in ("n", "nss", "NS"):
        assert not found.allows(Verb.GET, Noun.JOBS, namespace)


@given(*ASKED)
def test_nothing_is_given_to_who_was_given_nothing(verb, noun):
    """Deny by default: also to a name that is nobody's."""
    assert Rights("").areas(verb, noun) == Rights("ann").areas(verb, noun) == ()


@given(RIGHTS, *ASKED, NAMES, NAMES, NAMES)
def test_what_may_be_done_is_seen(rights, verb, noun, namespace, queue, owner):
    """Nobody changes what they do not see."""
    scope = rights.scope(verb, noun)
    if scope.allows(namespace, queue, owner):
        assert scope.shows(namespace, queue, owner)


@given(RIGHTS, GRANTS, *ASKED, NAMES, NAMES, NAMES)
def test_a_grant_takes_nothing_away(rights, more, verb, noun, namespace, queue, owner):
    """Rights only grow by grants, and by none more than by that grant alone."""
    grown = Rights(rights.name, (*rights.grants, more))
    alone = Rights(rights.name, (more,))
    asked = (verb, noun, namespace, queue, owner)
    assert grown.allows(*asked) == (rights.allows(*asked) or alone.allows(*asked))


@given(st.sampled_from(Role), AREAS, *ASKED, NAMES)
def test_what_has_no_queue_is_not_reached_through_one(role, area, verb, noun, namespace):
    """A role for jobs of queues gives jobs alone; one of namespaces nothing that has none."""
    areas = Rights("ann", (Grant(role, area),)).areas(verb, noun)
    if area.queues is not None and noun != Noun.JOBS:
        assert areas == ()
    if area.namespaces is not None and noun in {Noun.CLUSTERS, Noun.HUB, Noun.ACCESS}:
        assert areas == ()


def test_a_cluster_administrator_may_everything():
    """Bound everywhere; elsewhere the binding is refused."""
    rights = Rights("root", (Grant(Role.CLUSTER_ADMINISTRATOR),))
    assert all(rights.scope(verb, noun) == EVERYTHING for verb in Verb for noun in Noun)
    assert rights.everywhere == Role.CLUSTER_ADMINISTRATOR
    assert EVERYTHING.is_everything
    assert not Scope((), ()).is_everything
    assert unenforceable(Role.CLUSTER_ADMINISTRATOR, ["n"], None)
    assert unenforceable(Role.CLUSTER_ADMINISTRATOR, None, ["q"])
    assert not unenforceable(Role.CLUSTER_ADMINISTRATOR, None, None)
    assert not unenforceable(Role.VIEWER, ["n"], ["q"])


def submitter(namespaces=None, classes=None):
    """Rights of ann, who submits in these namespaces jobs of these classes."""
    return Grant(Role.SUBMITTER, Area(namespaces, None), classes)


HIGH, LOW = frozenset({"high"}), frozenset({"low"})
IN_A, IN_B = frozenset({"a"}), frozenset({"b"})


@pytest.mark.parametrize(
    ("grants", "classes"),
    [
        ((), frozenset()),
        ((submitter(),), None),
        ((submitter(classes=HIGH),), HIGH),
        ((submitter(IN_A, HIGH), submitter(IN_A, LOW)), HIGH | LOW),
        ((submitter(IN_A, HIGH), submitter(IN_B, LOW)), HIGH),
        ((submitter(IN_A, HIGH), submitter(IN_A)), None),
        ((submitter(IN_B),), frozenset()),
    ],
)
def test_the_classes_of_a_job_are_those_of_all_grants_that_allow_it(grants, classes):
    """A grant without a list gives all of them; one of another namespace gives none."""
    assert Rights("ann", grants).priority_classes(Verb.CHANGE, "a", "q", "ann") == classes


@pytest.mark.parametrize(
    ("role", "is_refused"),
    [
        (Role.VIEWER, True),
        (Role.SUBMITTER, False),
        (Role.BATCH_ADMINISTRATOR, False),
        (Role.CLUSTER_ADMINISTRATOR, True),
    ],
)
def test_classes_are_bound_to_who_submits_or_administers_queues(role, is_refused):
    """For other roles a list of classes would limit nothing."""
    assert bool(unenforceable(role, None, None, {"high"})) is is_refused


@pytest.mark.parametrize(
    ("areas", "whole"),
    [
        ((), False),
        ((Area(),), True),
        ((Area(frozenset({"n"})),), True),
        ((Area(frozenset({"other"})),), False),
        ((Area(frozenset({"n"}), frozenset({"q"})),), False),
        ((Area(None, frozenset({"q"})),), False),
        ((Area(frozenset({"n"}), owner="ann"),), False),
        ((Area(frozenset({"n"}), frozenset({"q"})), Area(frozenset({"n"}))), True),
    ],
)
def test_a_namespace_is_seen_whole_by_who_sees_every_queue_and_owner_in_it(areas, whole):
    """A caller who sees only some queues or owners cannot tell that a job does not exist."""
    assert Scope(sees=areas).shows_all("n") is whole
