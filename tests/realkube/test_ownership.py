"""The shipped policies protect a member's own objects from the agent, on a real API server.

Requests go with the credentials of the agent's own account. It has every right here, so that nothing but
the policy is in the way; that an administrator may do the same shows that it is the policy that denies.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from agent.config import Settings
from agent.main import Agent
from shared import labels
from shared.wire.agent_v1 import Work
from tests import waiting
from tests.agent.scripted_hub import HUB_ID, ScriptedHub, a_job, an_object
from tests.charts import helm
from tests.realkube.gate import MANAGER, Gate
from tests.realkube.people import ENFORCE, SPACE, People, secret, versions
from tests.realkube.plane import Plane, PlaneError

pytestmark = [pytest.mark.realkube, pytest.mark.timeout(500)]

MARK: Final = {labels.MANAGED_BY: HUB_ID, labels.JOB_UID: "o-0"}
CREATED: Final = {**MARK, labels.CREATED_BY: HUB_ID}
DENIED: Final = "denied request: ForbiddenField"
# The garbage collector deletes an object once all its owners are gone; this one never existed.
NO_OWNER: Final = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "name": "gone",
    "uid": "00000000-0000-4000-8000-000000000000",
}
LIFETIMES: Final = (
    pytest.param({"ownerReferences": [NO_OWNER]}, id="owner"),
    pytest.param({"finalizers": ["example.com/keep"]}, id="finalizer"),
)


@pytest.fixture(scope="module")
def gate(real_control_plane: Plane) -> Iterator[Gate]:
    """The agent's chart with its defaults, profile objects."""
    made = Gate(real_control_plane, {})
    yield made
    helm.uninstall(made.release, real_control_plane.kubeconfig)


@pytest.fixture(scope="module")
def people(gate: Gate) -> Iterator[People]:
    """The namespace of the member's people and what is in it, made anew after a test that changed it."""
    found = People(gate.plane)
    yield found
    found.remove()


@pytest.fixture
def theirs(people: People) -> Plane:
    """The member, with the people's objects in a restricted namespace that accepts no hub."""
    people.ensure()
    return people.plane


def tried(gate: Gate, *arguments: str, stdin: str | None = None) -> str:
    """Return the API server's answer to the agent's account, refusals included."""
    try:
        return gate.plane.kubectl(*arguments, stdin=stdin, kubeconfig=gate.account)
    except PlaneError as refusal:
        return str(refusal)


def patch(gate: Gate, what: str, body: dict[str, Any], *more: str) -> str:
    """A merge patch of `KIND/NAME` in the namespace."""
    given = ("--type=merge", "-p", json.dumps(body), MANAGER, *more)
    return tried(gate, "-n", SPACE, "patch", what, *given)


def marks(found: dict[str, str | None]) -> dict[str, Any]:
    return {"metadata": {"labels": found}}


# --- the gate judges the stored object -----------------------------------------------------------


@pytest.mark.parametrize("what", ["secret/theirs", "deployment/theirs", f"namespace/{SPACE}"])
def test_a_foreign_object_is_not_deleted(gate: Gate, theirs: Plane, what: str) -> None:
    """DELETE needs `created-by` on the stored object."""
    before = versions(theirs)
    assert DENIED in tried(gate, "-n", SPACE, "delete", what, "--wait=false")
    assert versions(theirs) == before


@pytest.mark.parametrize(
    "added",
    [
        marks(MARK),
        marks(CREATED),
        marks({labels.ACCEPT: HUB_ID}),
        {"metadata": {"annotations": {labels.SPEC_HASH: "x"}}},
        {"metadata": {"finalizers": [labels.MEMBER_FINALIZER]}},
    ],
    ids=["managed-by", "created-by", "accept", "spec-hash", "finalizer"],
)
@pytest.mark.parametrize("what", ["secret/theirs", f"namespace/{SPACE}"])
def test_no_mark_is_put_on_it_first(
    gate: Gate, theirs: Plane, what: str, added: dict[str, Any]
) -> None:
    """Neither the marking request nor the DELETE after it passes."""
    before = versions(theirs)
    assert DENIED in patch(gate, what, added)
    assert DENIED in tried(gate, "-n", SPACE, "delete", what, "--wait=false")
    assert versions(theirs) == before


@pytest.mark.parametrize("added", [MARK, CREATED], ids=["managed-by", "created-by"])
@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("secret/theirs", {"data": {"key": "b3Vycw=="}}),
        ("deployment/theirs", {"spec": {"replicas": 0}}),
    ],
)
def test_an_overwrite_with_the_mark_in_the_same_patch_is_denied(
    gate: Gate, theirs: Plane, what: str, change: dict[str, Any], added: dict[str, str]
) -> None:
    """The labels of a request do not unlock it, in a patch or a server-side apply."""
    before = versions(theirs)
    assert DENIED in patch(gate, what, {**marks(added), **change})
    kind, _, name = what.partition("/")
    live = json.loads(theirs.kubectl("-n", SPACE, "get", kind, name, "-o", "json"))
    whole = {key: live[key] for key in ("apiVersion", "kind", "data", "spec") if key in live}
    whole |= {"metadata": {"name": name, "namespace": SPACE, "labels": added}}
    applied = ("apply", "--server-side", "--force-conflicts", MANAGER)
    assert DENIED in tried(gate, *applied, "-f", "-", stdin=json.dumps(whole | change))
    assert versions(theirs) == before


def test_no_subresource_is_written(gate: Gate, theirs: Plane) -> None:
    """Scaling to 0 by the scale subresource and writing a status are denied."""
    before = versions(theirs)
    refused = "denied request: UnsupportedKind"
    assert refused in tried(gate, "-n", SPACE, "scale", "deploy/theirs", "--replicas=0")
    status = {"status": {"observedGeneration": 9}}
    assert refused in patch(gate, "deployment/theirs", status, "--subresource=status")
    assert versions(theirs) == before


@pytest.mark.parametrize("level", ["baseline", "privileged", None])
@pytest.mark.parametrize("accepted", [True, False])
def test_a_pod_security_level_is_not_lowered(
    gate: Gate, theirs: Plane, level: str | None, accepted: bool
) -> None:
    """Lowering or removing `enforce` is denied, also where the namespace accepts the hub."""
    if accepted:
        theirs.kubectl("label", "namespace", SPACE, f"{labels.ACCEPT}={HUB_ID}")
    said = patch(gate, f"namespace/{SPACE}", marks({**MARK, ENFORCE: level}))
    assert ("denied request: PolicyViolation" in said) or (not accepted and DENIED in said)
    kept = theirs.kubectl("get", "namespace", SPACE, "-o", "jsonpath={.metadata.labels}")
    assert json.loads(kept)[ENFORCE] == "restricted"


def test_an_older_version_of_a_level_is_not_pinned(gate: Gate, theirs: Plane) -> None:
    """An older `enforce-version` enforces less: it is denied where the namespace accepts the hub."""
    theirs.kubectl("label", "namespace", SPACE, f"{labels.ACCEPT}={HUB_ID}")
    said = patch(gate, f"namespace/{SPACE}", marks({**MARK, f"{ENFORCE}-version": "v1.0"}))
    assert "denied request: PolicyViolation" in said


def test_an_administrator_may_do_all_of_it(theirs: Plane) -> None:
    """The policy judges the agent alone."""
    for arguments in (
        ("label", "secret", "theirs", f"{labels.MANAGED_BY}=x"),
        ("scale", "deployment", "theirs", "--replicas=0"),
        ("delete", "secret", "theirs"),
        ("label", "namespace", SPACE, f"{ENFORCE}-"),
    ):
        theirs.kubectl("-n", SPACE, *arguments)


# --- what is allowed -----------------------------------------------------------------------------


def test_what_the_agent_creates_it_changes_and_deletes(gate: Gate, theirs: Plane) -> None:
    """Label `created-by`, which the agent writes only on CREATE, allows both."""
    theirs.kubectl("label", "namespace", SPACE, f"{labels.ACCEPT}={HUB_ID}")
    mine = json.dumps(secret("mine", **CREATED))
    assert "created" in tried(gate, "create", MANAGER, "-f", "-", stdin=mine)
    assert "patched" in patch(gate, "secret/mine", {"data": {"key": "b3Vycw=="}})
    assert DENIED in patch(gate, "secret/mine", marks({labels.CREATED_BY: None}))
    assert DENIED in patch(gate, "secret/mine", marks({labels.CREATED_BY: "other"}))
    assert "deleted" in tried(gate, "-n", SPACE, "delete", "secret", "mine")


def test_what_consent_lets_it_take_over_it_releases_and_does_not_delete(
    gate: Gate, theirs: Plane
) -> None:
    """With `accept` on the namespace the agent takes over, changes and releases; it never deletes."""
    theirs.kubectl("label", "namespace", SPACE, f"{labels.ACCEPT}=another")
    assert DENIED in patch(gate, "secret/theirs", marks(MARK))
    theirs.kubectl("label", "--overwrite", "namespace", SPACE, f"{labels.ACCEPT}={HUB_ID}")
    assert "patched" in patch(gate, "secret/theirs", marks(MARK))
    assert DENIED in patch(gate, "secret/theirs", marks({labels.CREATED_BY: HUB_ID}))
    assert DENIED in tried(gate, "-n", SPACE, "delete", "secret", "theirs")
    assert "patched" in patch(gate, "secret/theirs", marks({labels.MANAGED_BY: None}))
    assert "patched" in patch(gate, f"namespace/{SPACE}", marks(MARK))
    assert DENIED in patch(gate, f"namespace/{SPACE}", marks({labels.ACCEPT: None}))
    assert DENIED in tried(gate, "delete", "namespace", SPACE, "--wait=false")


@pytest.mark.parametrize("field", LIFETIMES)
@pytest.mark.parametrize("what", ["secret/theirs", "deployment/theirs", f"namespace/{SPACE}"])
def test_no_owner_and_no_finalizer_is_written_on_what_was_taken_over(
    gate: Gate, theirs: Plane, what: str, field: dict[str, Any]
) -> None:
    """Neither at the take-over nor later; owners and finalizers of other people stay."""
    theirs.kubectl("label", "namespace", SPACE, f"{labels.ACCEPT}={HUB_ID}")
    assert DENIED in patch(gate, what, {"metadata": {"labels": MARK, **field}})
    assert "patched" in patch(gate, what, marks(MARK))
    assert DENIED in patch(gate, what, {"metadata": field})
    kept = theirs.kubectl("-n", SPACE, "get", what, "-o", "jsonpath={.metadata}")
    assert not {"deletionTimestamp", *field} & json.loads(kept).keys()


def test_a_finalizer_of_the_people_stays(gate: Gate, theirs: Plane) -> None:
    """It protects their object: the agent does not remove it from an object that it took over."""
    theirs.kubectl("label", "namespace", SPACE, f"{labels.ACCEPT}={HUB_ID}")
    assert "patched" in patch(gate, "persistentvolumeclaim/theirs", marks(MARK))
    bare = {"metadata": {"finalizers": None}}
    assert DENIED in patch(gate, "persistentvolumeclaim/theirs", bare)


def test_objects_of_an_earlier_release_are_changed_and_not_deleted(
    gate: Gate, theirs: Plane
) -> None:
    """They carry `managed-by` without `created-by`, and are changed where the namespace accepts the hub."""
    theirs.create(secret("old", **MARK), manager=labels.FIELD_MANAGER)
    change = {"data": {"key": "b3Vycw=="}}
    assert "denied request: NotAccepted" in patch(gate, "secret/old", change)
    theirs.kubectl("label", "namespace", SPACE, f"{labels.ACCEPT}={HUB_ID}")
    assert "patched" in patch(gate, "secret/old", change)
    assert DENIED in tried(gate, "-n", SPACE, "delete", "secret", "old")
    assert "patched" in patch(gate, "secret/old", marks({labels.MANAGED_BY: None}))


# --- an agent behind the gate --------------------------------------------------------------------


@pytest.fixture
async def hub(gate: Gate, theirs: Plane, tmp_path: Path) -> AsyncIterator[ScriptedHub]:
    """A hub that a test speaks for, with an agent in the member that runs as its own account."""
    scripted = ScriptedHub()
    token = tmp_path / "join.token"
    token.write_text("join-me")
    settings = Settings(
        hub_url="http://hub",
        credential=tmp_path / "credential.json",
        kubeconfig=gate.account,
        join_token=token,
        lease_s=1.0,
    )
    running = asyncio.create_task(Agent(settings, transport=scripted).run())
    yield scripted
    await waiting.ended(running)


def placed(name: str, uid: str, action: str = "Apply") -> Work:
    return an_object(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, uid, action=action
    )


@pytest.mark.anyio
@pytest.mark.parametrize("accepted", [True, False])
async def test_a_placement_deletes_nothing_of_a_members_own_namespace(
    hub: ScriptedHub, theirs: Plane, accepted: bool
) -> None:
    """A hub's Namespace of the same name comes and goes; the member's and all in it stay."""
    if accepted:
        theirs.kubectl("label", "namespace", SPACE, f"{labels.ACCEPT}={HUB_ID}")
    before = versions(theirs)
    hub.put(placed(SPACE, "o-1"))
    if accepted:
        await hub.seen("o-1", "Applied", timeout_s=60)
    else:
        await hub.seen("o-1", "Failed", "NameConflict", timeout_s=60)
    hub.put(placed(SPACE, "o-1", "Withdraw"))
    await hub.seen("o-1", "Gone", timeout_s=60)
    live = json.loads(theirs.kubectl("get", "namespace", SPACE, "-o", "json"))["metadata"]
    assert "deletionTimestamp" not in live
    assert labels.MANAGED_BY not in live["labels"]
    assert live["labels"][ENFORCE] == "restricted"
    assert versions(theirs) == before


@pytest.mark.anyio
async def test_a_hub_that_sends_owners_or_finalizers_is_refused(
    hub: ScriptedHub, theirs: Plane
) -> None:
    """The refusal names the field; the agent does not touch the people's object."""
    theirs.kubectl("label", "namespace", SPACE, f"{labels.ACCEPT}={HUB_ID}")
    before = versions(theirs)
    fields = {"ownerReferences": [NO_OWNER], "finalizers": ["example.com/keep"]}
    for name, value in fields.items():
        manifest = secret("theirs")
        manifest["metadata"][name] = value
        hub.put(an_object(manifest, f"o-{name}", when_to_take_over="Always"))
    for name in fields:
        entry = await hub.seen(f"o-{name}", "Failed", "RefusedByMember", timeout_s=60)
        assert f"ForbiddenField: metadata.{name}: " in entry.message
    assert versions(theirs) == before


@pytest.mark.anyio
async def test_a_created_namespace_goes_once_the_job_in_it_has_ended(
    hub: ScriptedHub, gate: Gate
) -> None:
    """Withdrawn while a Job of a queue runs in it, it waits for the Job; then the agent deletes it."""
    plane = gate.plane
    hub.put(placed("fresh", "o-1"))
    await hub.seen("o-1", "Applied", timeout_s=60)
    hub.put(a_job("u-1", namespace="fresh", run_seconds="600"))
    await hub.seen("u-1", "Applied", timeout_s=60)
    hub.put(placed("fresh", "o-1", "Withdraw"))
    entry = await hub.seen("o-1", "Applied", "NamespaceNotEmpty", timeout_s=60)
    assert "Job/job" in entry.message
    phase = plane.kubectl("get", "namespace", "fresh", "-o", "jsonpath={.status.phase}")
    assert phase == "Active"
    hub.put(a_job("u-1", namespace="fresh", action="Withdraw"))
    await hub.seen("u-1", "Gone", timeout_s=90)
    await hub.seen("o-1", "Gone", timeout_s=90)
    assert "NotFound" in tried(gate, "get", "namespace", "fresh")
