"""The list that is shown before a removal: what members delete, release and leave."""

from typing import Any

import pytest

from hub.domain.rollout.removal import Fate, MemberObject, counts_of, fates_of


def held(kind: str = "ConfigMap", name: str = "settings", **changes: Any) -> MemberObject:
    """An object that the agent of `m1` applied and created."""
    namespace = "" if kind == "Namespace" else "shop"
    made = MemberObject(
        "m1", f"{kind}-{name}", "v1", kind, namespace, name, phase="Applied", created=True
    )
    return made._replace(**changes)


@pytest.mark.parametrize(
    ("of", "fate"),
    [
        (held(), Fate.DELETED),
        (held(created=False), Fate.RELEASED),
        (held(created=None), Fate.NOT_REPORTED),
        (held(created=None, phase=""), Fate.NOT_REPORTED),
        (held(created=None, phase="Failed", reason="ApplyFailed"), Fate.NOT_REPORTED),
        (held(created=None, phase="Failed", reason="NameConflict"), Fate.LEFT),
        (held(created=None, phase="Failed", reason="NotAccepted"), Fate.LEFT),
        (held(abandon=True), Fate.RELEASED),
        (held(action="Compare", created=None), Fate.LEFT),
        (held(kind="Job", is_job=True, created=None), Fate.WITHDRAWN),
        (held(kind="Namespace", name="shop"), Fate.DELETED_IF_EMPTY),
        (held(kind="Namespace", name="shop", created=False), Fate.RELEASED),
    ],
)
def test_the_fate_of_an_object_follows_its_agents_report(of: MemberObject, fate: Fate):
    """Only what the agent reports as created is deleted; what it does not report is not guessed."""
    (outcome,) = fates_of([of], [])
    assert outcome.fate is fate


def test_a_namespace_with_work_of_the_hub_in_it_is_left():
    """The list names that work; it stays, too."""
    others = [held(name="kept"), held(kind="Job", name="train", is_job=True, created=None)]
    found = {
        f"{each.of.kind}/{each.of.name}": each
        for each in fates_of([held("Namespace", "shop")], others)
    }
    assert found["Namespace/shop"].fate is Fate.LEFT
    assert found["Namespace/shop"].inside == ("ConfigMap kept", "Job train")
    assert found["Job/train"].fate is Fate.LEFT


def test_work_in_another_member_keeps_no_namespace():
    """Each member has its own objects."""
    outcomes = fates_of([held("Namespace", "shop")], [held(cluster="m2")])
    assert counts_of(outcomes)[Fate.DELETED_IF_EMPTY] == 1


def test_what_the_agent_found_in_a_namespace_is_told():
    """A Namespace that is being withdrawn says what it waits for, in the agent's words."""
    text = "it is not empty: ConfigMap theirs"
    (outcome,) = fates_of([held("Namespace", "shop", action="Withdraw", message=text)], [])
    assert outcome.why == text


def test_what_others_have_in_a_namespace_is_not_reported():
    """The hub does not guess that a Namespace is empty."""
    (outcome,) = fates_of([held("Namespace", "shop")], [])
    assert "not reported" in outcome.why
