"""A hub may use some namespaces of a member."""

import pytest

from agent.decide.member_policy import MemberPolicy
from agent.member.acceptance import Acceptance
from shared import labels
from shared.podsecurity import Rules
from tests.agent.owned import owning

HUB = "hub-1"
ACCEPT = {labels.ACCEPT: HUB}
OURS = {labels.MANAGED_BY: HUB}
BY_AGENT = owning({"f:metadata": {"f:labels": {f"f:{labels.CREATED_BY}": {}}}}, operation="Update")


def a_namespace(name, marks, *entries):
    metadata = {"name": name, "labels": marks, "managedFields": list(entries)}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def state(name, marks=None, accepted="", rules=None, by=()):
    policy = MemberPolicy(rules or Rules(), accepted=accepted)
    return Acceptance(HUB, policy).state_of(a_namespace(name, marks or {}, *by), name)


def test_a_missing_namespace_is_absent():
    """The agent creates it."""
    assert Acceptance(HUB, MemberPolicy()).state_of(None, "team") == "Absent"


@pytest.mark.parametrize(
    ("name", "marks", "accepted", "expected"),
    [
        ("finance", {}, "", "NotAccepted"),
        ("finance", ACCEPT, "", "Labelled"),
        ("finance", {labels.ACCEPT: "hub-2"}, "", "NotAccepted"),
        ("finance", {}, "finance", "Named"),
        ("finance", {}, "fin*", "Named"),
        ("finance", {}, "team-*", "NotAccepted"),
        ("default", {}, "*", "NotAccepted"),
        ("default", {}, "*,default", "Named"),
        ("default", ACCEPT, "", "Labelled"),
        ("kube-public", ACCEPT, "kube-public", "NotAccepted"),
        ("roadstead", ACCEPT, "roadstead", "NotAccepted"),
    ],
)
def test_people_accept_by_label_or_by_name(name, marks, accepted, expected):
    """No pattern matches `default`; namespaces of Kubernetes and of the agent are never accepted."""
    assert state(name, marks, accepted) == expected


@pytest.mark.parametrize(
    ("marks", "by", "expected"),
    [
        ({**OURS, labels.CREATED_BY: HUB}, [BY_AGENT], "Created"),
        ({**OURS, labels.CREATED_BY: HUB}, [], "NotAccepted"),
        (OURS, [BY_AGENT], "Created"),
        ({**OURS, labels.JOB_UID: "u"}, [BY_AGENT], "NotAccepted"),
        ({labels.MANAGED_BY: "hub-2", labels.CREATED_BY: "hub-2"}, [BY_AGENT], "NotAccepted"),
    ],
)
def test_the_agent_uses_what_it_created(marks, by, expected):
    """Managed fields prove it, also for a namespace that an earlier release made for Jobs; labels do not."""
    assert state("team", marks, by=by) == expected


MADE = {**OURS, labels.CREATED_BY: HUB}


@pytest.mark.parametrize(
    ("marks", "written", "wanted", "expected"),
    [
        (MADE, "id-1", "id-1", "Created"),
        (MADE, "id-1", "id-2", "Replaced"),
        (MADE, "id-1", "", "Replaced"),
        (MADE, "id-1", None, "Created"),
        (MADE, "", "id-1", "Replaced"),
        (MADE, "", "", "Replaced"),
        (MADE | ACCEPT, "id-1", "id-2", "Labelled"),
        (OURS, "", "id-1", "Replaced"),
        ({}, "id-1", "id-1", "NotAccepted"),
        (ACCEPT, "id-1", "id-2", "Labelled"),
    ],
)
def test_a_namespace_is_used_for_the_one_that_it_was_created_for(marks, written, wanted, expected):
    """With another id, or without one, it needs consent; a hub that sends no id is of an earlier release."""
    space = a_namespace("team", marks, BY_AGENT)
    if written:
        space["metadata"]["annotations"] = {labels.NAMESPACE_ID: written}
    assert Acceptance(HUB, MemberPolicy()).state_of(space, "team", wanted) == expected


@pytest.mark.parametrize(
    ("marks", "wanted", "gives"),
    [
        (MADE, "id-1", True),
        (MADE | ACCEPT, "id-2", False),
        (MADE | ACCEPT | {labels.ACCEPT_TOKENS: "true"}, "id-2", True),
    ],
)
def test_tokens_where_people_decide_take_their_label(marks, wanted, gives):
    """In a namespace that the agent created for this namespace of the hub, pods have tokens."""
    space = a_namespace("team", marks, BY_AGENT)
    space["metadata"]["annotations"] = {labels.NAMESPACE_ID: "id-1"}
    assert Acceptance(HUB, MemberPolicy()).space(space, "team").gives_tokens(wanted) is gives


def test_a_namespace_that_a_release_without_ids_placed_tells_its_id_by_its_work():
    """The uid of its work is the id; after the withdrawal nothing shows the id."""
    placed = a_namespace("team", MADE | {labels.JOB_UID: "id-1"}, BY_AGENT)
    rule = Acceptance(HUB, MemberPolicy())
    assert rule.state_of(placed, "team", "id-1") == "Created"
    assert rule.state_of(placed, "team", "id-2") == "Replaced"
    assert rule.state_of(a_namespace("team", MADE, BY_AGENT), "team", "id-1") == "Replaced"
