"""The shipped admission policy of a member on JobSets and their kin: judged as Jobs, of the agent alone."""

import re
from typing import Any

import cel
import pytest

from shared.kinds.dispatched import DISPATCHED
from tests import manifests
from tests.deploy.member_gate import (
    ACCEPT,
    BY_OTHERS,
    CREATED,
    ENDING,
    HOLD,
    MARK,
    OTHER,
    OWNED,
    an,
    is_allowed,
)
from tests.house.sources import REPOSITORY

Json = dict[str, Any]
OF_EPOCH = {**MARK, "roadstead.dev/epoch": "1"}
UNSTARTED = {"annotations": {"roadstead.dev/not-started": "[]"}}
KINDS = pytest.mark.parametrize("kind", ["JobSet", "PyTorchJob", "RayJob"])
POLICIES = REPOSITORY / "deploy" / "member" / "admission-policy.yaml"
AGENT = "system:serviceaccount:roadstead:agent"


def a_parent(suspend: bool, **metadata: Any) -> Json:
    """One that the agent made; held or not."""
    return {**an(OF_EPOCH, **metadata), "spec": {"suspend": suspend}}


@KINDS
@pytest.mark.parametrize(
    ("operation", "old", "new", "space", "allowed"),
    [
        ("CREATE", None, a_parent(True, **HOLD), {}, False),
        ("CREATE", None, a_parent(True, **HOLD), OTHER, False),
        ("CREATE", None, a_parent(True, **HOLD), ACCEPT, True),
        ("CREATE", None, a_parent(True, **HOLD), CREATED, True),
        ("CREATE", None, a_parent(True, **OWNED), CREATED, False),
        ("CREATE", None, an({"roadstead.dev/epoch": "1"}), CREATED, False),
        ("UPDATE", a_parent(True, **UNSTARTED), a_parent(False), {}, False),
        ("UPDATE", a_parent(True, **UNSTARTED), a_parent(False), ACCEPT, True),
        ("UPDATE", a_parent(True, **UNSTARTED), a_parent(True), {}, False),
        ("UPDATE", a_parent(False), a_parent(True), {}, False),
        ("UPDATE", a_parent(False, **HOLD), a_parent(False), {}, True),
        ("UPDATE", a_parent(False, **HOLD, **ENDING), a_parent(False, **ENDING), {}, True),
        ("UPDATE", an({}), a_parent(False), ACCEPT, False),
        ("DELETE", a_parent(False), None, {}, True),
        ("DELETE", an({}), None, ACCEPT, False),
        ("DELETE", an(OF_EPOCH, **BY_OTHERS), None, {}, False),
        ("DELETE", an(OF_EPOCH, **BY_OTHERS), None, ACCEPT, True),
    ],
)
def test_an_object_of_a_job_is_judged_as_a_job(
    kind: str, operation: str, old: Json | None, new: Json | None, space: Json, allowed: bool
) -> None:
    """Consent is for what begins or grows; release and deletion need none; other people's are theirs."""
    assert is_allowed(operation, kind, old, new, space) is allowed


def test_the_agent_alone_is_judged() -> None:
    """The operator, people and the hub's other accounts write JobSets by their own rights."""
    for policy in manifests.kept(POLICIES):
        for each in policy["spec"].get("matchConditions", ()):
            for name, judged in (
                (AGENT, True),
                ("ana", False),
                ("system:serviceaccount:jobset-system:jobset-controller-manager", False),
                ("system:serviceaccount:roadstead:default", False),
            ):
                request = {"request": {"userInfo": {"username": name}}}
                assert cel.evaluate(each["expression"], request) is judged


def test_the_policy_names_each_dispatched_kind() -> None:
    """One that is missing would be judged as a placed object, or could not have the labels of its job."""
    text = POLICIES.read_text()
    assert [f"{api}/{kind}" for api, kind in DISPATCHED if f"'{api}/{kind}'" not in text] == []
    (listed,) = re.findall(
        r"\(request\.kind\.kind in \[('Job'[^\]]*)\] && k in\s+\['roadstead", text
    )
    named = [each.strip(" '\n") for each in listed.split(",")]
    assert sorted(named) == sorted(["Job", *(kind for _, kind in DISPATCHED)])
