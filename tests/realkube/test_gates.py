"""Every gate that we ship, asked by everybody in every way on a real API server: `gates/table.py`.

Gates of a member: the admission policies of the agent's chart and of `deploy/member`. Gates of a hub cluster:
those of the hub's chart and of `deploy/hub-cluster`. The server decides on dry runs as on all others.
"""

import contextlib
import json
from collections.abc import Iterator
from functools import partial
from typing import Final

import pytest

from tests.e2e.running import REPOSITORY, until
from tests.realkube.gates import chains, world
from tests.realkube.gates.asking import Json, account
from tests.realkube.gates.requests import ACTIONS, CHANGES, TOUCHED, Request, change_of
from tests.realkube.gates.table import HUB_CLUSTER, MEMBER, Row, rows
from tests.realkube.gates.world import World
from tests.realkube.plane import Plane

pytestmark = [pytest.mark.realkube, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def gated(request: pytest.FixtureRequest, real_control_plane: Plane) -> Iterator[World]:
    """The plane as a member or as a hub cluster, installed from the manifests or by the chart.

    One fixture for all four: the policies of one are gone before those of the next come.
    """
    role, source = request.param
    plane, install = real_control_plane, getattr(world, f"{role}_by_{source}")
    of_member = role == "member"
    objects = world.members_objects() if of_member else world.hub_clusters_objects()
    objects = chains.with_copies(objects, chains.MEMBER if of_member else chains.HUB_CLUSTER)
    with kinds(plane, of_member=of_member), world.a_world(plane, objects, install) as made:
        yield made


@contextlib.contextmanager
def kinds(plane: Plane, *, of_member: bool) -> Iterator[None]:
    """LocalQueues, which a hub cluster has."""
    if of_member:
        yield
        return
    file = str(REPOSITORY / "deploy/crds/kueue.x-k8s.io_localqueues.yaml")
    plane.kubectl("apply", "--server-side", "-f", file)
    plane.kubectl("wait", "--for=condition=Established", "crd/localqueues.kueue.x-k8s.io")
    yield
    plane.kubectl("delete", "-f", file, "--wait=true")


def each_of(role: str) -> pytest.MarkDecorator:
    """The test runs once with the plain manifests and once with the chart."""
    given = [pytest.param((role, source), id=source) for source in ("manifests", "chart")]
    return pytest.mark.parametrize("gated", given, indirect=True, scope="module")


# What the named actions of the tables ask for, as merge patches.
NAMED: Final[dict[str, Json]] = {
    "start": {"spec": {"suspend": False}},
    "grow": {"spec": {"parallelism": 3}},
    "other nodes": {"spec": {"template": {"spec": {"nodeSelector": {"zone": "a"}}}}},
    "more tries": {"spec": {"backoffLimit": 7}},
    "more time": {"spec": {"activeDeadlineSeconds": 601}},
    "no deadline": {"spec": {"activeDeadlineSeconds": None}},
    "give away": chains.OTHER_HUB,
    "own": chains.OWNED,
    "keep": {"metadata": {"finalizers": ["example.com/keep"]}},
    "pin": chains.PINNED,
    "release": chains.RELEASED,
    "relabel": chains.RELABELLED,
    "manage": chains.labelled(**{"kueue.x-k8s.io/managed-namespace": "true"}),
    "note": TOUCHED,
    "unqueue": {"metadata": {"labels": dict.fromkeys(world.QUEUED)}},
    "name another": {"metadata": {"annotations": {world.SUBMITTED_BY: "bob"}}},
    "mark as mirror": {"metadata": {"labels": world.ORIGIN}},
}


def by_object(table: str) -> dict[str, list[Row]]:
    """The rows of a table, by what they are about."""
    found: dict[str, list[Row]] = {}
    for row in rows(table):
        found.setdefault(row.obj, []).append(row)
    return found


MEMBERS, HUBS = by_object(MEMBER), by_object(HUB_CLUSTER)


def asked(made: World, row: Row) -> dict[str, str]:
    """The verdict for each identity of a row."""
    found: dict[str, str] = {}
    for who, expected in row.cells.items():
        change = NAMED.get(row.action) or change_of(made.objects[row.obj])
        if row.action == "create":
            change = {}
        # The hub may ask by a dry run what a cluster does with a Job: a refusal is asked for in earnest.
        dry = not (row.action == "create" and who.startswith("hub") and expected == "gate")
        action = "merge" if row.action in NAMED else row.action
        found[who] = made.act(who, row.obj, action, change, dry=dry).verdict
    return found


def wrong(made: World, table: list[Row]) -> dict[str, dict[str, str]]:
    """The cells that the API server does not agree with, by action."""
    found = {}
    for row in table:
        told = asked(made, row)
        if differing := {who: told[who] for who in told if told[who] != row.cells[who]}:
            found[row.action] = differing
    return found


@each_of("member")
@pytest.mark.parametrize("obj", MEMBERS)
def test_a_members_gates_decide_as_the_table_says(gated: World, obj: str) -> None:
    """Each identity gets the answer of its cell, from a gate, a role, or neither."""
    assert wrong(gated, MEMBERS[obj]) == {}


@each_of("hub_cluster")
@pytest.mark.parametrize("obj", HUBS)
def test_the_hub_clusters_gates_decide_as_the_table_says(gated: World, obj: str) -> None:
    """Each identity gets the answer of its cell, from a gate, a role, or neither."""
    assert wrong(gated, HUBS[obj]) == {}


@each_of("member")
@pytest.mark.parametrize("marker", chains.MARKERS, ids=lambda each: each.name)
def test_no_mark_that_one_request_sets_unlocks_the_next(
    gated: World, marker: chains.Marker
) -> None:
    """By each way to change it: the mark is refused, then deletion and overwrite; nothing changed."""
    for obj in chains.FOREIGN:
        before = gated.stored(obj)
        for action in CHANGES:
            said = gated.act("agent+", obj, action, marker.change, dry=False)
            assert said.status >= 400, f"{obj} {action}: {said.body}"
        for action in ("delete", "collection", *CHANGES):
            if (obj, action) != ("Namespace theirs", "collection"):  # there is no such request
                said = gated.act("agent+", obj, action, change_of(gated.objects[obj]))
                assert said.verdict == "gate", f"{obj} {action}"
        assert gated.stored(obj) == before


@each_of("member")
@pytest.mark.parametrize("chain", chains.MEMBER, ids=lambda each: each.name)
def test_a_chain_of_requests_reaches_no_further_in_a_member(
    gated: World, chain: chains.Chain
) -> None:
    """A first request that is allowed never lets a second one do more than it could alone."""
    followed(gated, chain)


# How the agent's account tries to have a namespace that was taken over count as one that it created.
NO_UID: Final = chains.labelled(**{"roadstead.dev/job-uid": None})
TAKE_OVERS: Final = (
    pytest.param(
        (("agent", chains.labelled(**world.MANAGED)), ("admin", chains.WITHDRAWN)), id="no-uid"
    ),
    pytest.param(
        (
            ("agent", chains.labelled(**world.TAKEN)),
            ("agent", NO_UID),
            ("admin", chains.WITHDRAWN),
        ),
        id="uid-removed-then-withdrawn",
    ),
    pytest.param(
        (
            ("agent", chains.labelled(**world.TAKEN)),
            ("admin", chains.WITHDRAWN),
            ("agent", NO_UID),
        ),
        id="withdrawn-then-uid-removed",
    ),
)
IN_IT: Final = (
    world.a_job("evil", "withdrawn", labels=world.MANAGED),
    world.a_secret("evil", "withdrawn", **world.CREATED),
    world.a_deployment("evil", "withdrawn", **world.CREATED),
)


@each_of("member")
@pytest.mark.parametrize("steps", TAKE_OVERS)
@pytest.mark.parametrize("rights", ["agent", "agent+"])
def test_nothing_is_created_in_a_namespace_whose_consent_is_withdrawn(
    gated: World, steps: tuple[tuple[str, Json], ...], rights: str
) -> None:
    """No order of take-over, withdrawal and changed labels makes it a namespace that the agent created."""
    asker, space = gated.asker, world.a_namespace("withdrawn", **world.ACCEPT)
    gated.plane.create(space)
    try:
        for who, change in steps:
            named = rights if who == "agent" else who
            given = Request(asker, world.IDENTITIES[named], space, change, dry=False)
            ACTIONS["merge"](given)  # allowed or denied: what follows must be denied
        for each in IN_IT:
            said = ACTIONS["create"](Request(asker, world.IDENTITIES[rights], each, {}))
            assert said.verdict == "gate", f"{each['kind']}: {said.message}"
    finally:
        gated.plane.kubectl("delete", "namespace", "withdrawn", "--wait=true")


@each_of("hub_cluster")
@pytest.mark.parametrize("chain", chains.HUB_CLUSTER, ids=lambda each: each.name)
def test_a_chain_of_requests_reaches_no_further_in_the_hub_cluster(
    gated: World, chain: chains.Chain
) -> None:
    """A first request that is allowed never lets a second one do more than it could alone."""
    followed(gated, chain)


@each_of("hub_cluster")
def test_who_gives_a_job_its_queue_submits_it(gated: World) -> None:
    """Ana's Job becomes Roadstead's by another's label: it is not hers any more, or the label is refused."""
    said = gated.act("admin", "Job named", "merge", chains.labelled(**world.QUEUED), dry=False)
    submitter = gated.stored("Job named")["metadata"]["annotations"][world.SUBMITTED_BY]
    assert (said.verdict, submitter) == ("gate", "ana") or submitter != "ana"


CRONJOBS: Final = account("cronjobs", "kube-system", "cronjob-controller")


@each_of("hub_cluster")
def test_a_controllers_job_runs_there_and_nobody_elses(gated: World) -> None:
    """The CronJob controller may update CronJobs; a submitter who names one as owner may not."""
    owner = world.owned_by("batch/v1", "CronJob")
    job = world.a_job("nightly", "team", {"suspend": False}, labels=world.QUEUED, **owner)
    for who, verdict in ((CRONJOBS, "yes"), (world.IDENTITIES["submitter"], "gate")):
        said = ACTIONS["create"](Request(gated.asker, who, job, {}))
        assert said.verdict == verdict, said.message


@each_of("hub_cluster")
def test_the_policies_of_a_hub_cluster_are_sound(gated: World) -> None:
    """The API server has checked their types and has no warning."""
    for name in HUB_POLICIES:
        status = until(partial(_checked, gated, name), 30, f"{name} is checked")
        assert not status["typeChecking"].get("expressionWarnings"), status


HUB_POLICIES: Final = (
    *("jobs", "submitted-by", "queues", "labels", "pod-templates"),
    *("kinds-submitted-by", "kinds-queues"),
    *("mirrors", "hub-account", "hub-namespaces"),
)


def _checked(made: World, name: str) -> Json | None:
    """The status of a policy once its types were checked."""
    asked = ("get", "validatingadmissionpolicy", f"roadstead-{name}", "-o", "json")
    status: Json = json.loads(made.plane.kubectl(*asked)).get("status", {})
    return status if "typeChecking" in status else None


def followed(made: World, chain: chains.Chain) -> None:
    """Carry the chain out in earnest on the object that is its own."""
    told = [
        made.act(step.who or chain.who, chain.obj, step.action, step.change, dry=False).verdict
        for step in chain.steps
    ]
    assert told == [each.verdict for each in chain.steps]
