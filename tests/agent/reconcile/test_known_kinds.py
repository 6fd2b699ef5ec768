"""The definitions that a hub tells are those of the agent where both bring the kind."""

import copy
from typing import Any

import pytest

from agent.reconcile.kind_readings import known_kinds
from hub.services.reading.kind_definitions import told
from shared import labels
from shared.kinds.dispatched import DISPATCHED
from shared.wire.kind_rules import KindDefinition, KindDefinitions
from tests.agent.scripted_hub import HUB_ID
from tests.agent.things import THING, THINGS


def test_every_dispatched_kind_that_a_hub_tells_is_known() -> None:
    """Also one that a plug-in reads: without its definition no end of it would ever be seen."""
    given = [KindDefinition.model_validate(each) for each in told()["definitions"]]
    _, named = known_kinds(given)
    assert {each.name for each in given} == named.keys()
    assert all(each.trusted for each in named.values())
    kinds = {(f"{d.of.group}/{d.of.version}", d.of.kind) for d in named.values()}
    assert kinds >= DISPATCHED


CRDS = "customresourcedefinitions.apiextensions.k8s.io"


def a_later_definition(kind: dict[str, str] | None) -> KindDefinitions:
    """A definition of a later hub, which this agent refuses."""
    root = {"scaleDefinition": {"replicasPath": ".spec.size | a_later_function"}}
    component = root if kind is None else {**root, "kind": kind}
    karta = {
        "apiVersion": "run.ai/v1alpha1",
        "kind": "Karta",
        "metadata": {"name": "thing"},
        "spec": {"structureDefinition": {"rootComponent": component}},
    }
    told = KindDefinition(name="thing@1", hash="1", karta=karta)
    return KindDefinitions(revision=7, definitions=[told])


@pytest.mark.anyio
async def test_objects_of_a_definition_that_is_refused_are_reported(member):
    """An earlier session left one: the agent watches the kind, and counts it as read with the object told."""
    member.cluster.store.create(CRDS, THINGS)
    marks = {labels.MANAGED_BY: HUB_ID, labels.JOB_UID: "u-9", labels.EPOCH: "1"}
    left: dict[str, Any] = copy.deepcopy(THING)
    left["metadata"]["labels"] = marks
    await member.kube.create(left, field_manager=labels.FIELD_MANAGER)
    of = {"group": "example.org", "version": "v1", "kind": "Thing"}
    member.hub.kinds, member.hub.removes_strays = a_later_definition(of), False
    member.start()

    def has_read(hub):
        newest = hub.requests[-1] if hub.requests else None
        return newest is not None and newest.kinds_held == 7 and newest.jobs_read

    await member.hub.until(has_read)
    assert member.hub.observed["u-9"].epoch == 1


@pytest.mark.anyio
async def test_a_definition_that_does_not_even_name_its_kind_leaves_all_unread(member):
    """The agent proves nothing to the hub."""
    member.hub.kinds = a_later_definition(None)
    agent = member.start()
    await member.hub.until(lambda hub: hub.requests and hub.requests[-1].kinds_held == 7)
    await member.hub.until(lambda _: agent.reconciler.kinds.revision == 7)
    told = agent.reconciler.jobs_read.told()
    assert told == {"jobs_read": False, "kinds_unread": None}
