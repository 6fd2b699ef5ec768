"""What a member's policy refuses, and what not: its rules as tables, without a member."""

import pytest

from agent.decide.member_policy import MemberPolicy
from shared.podsecurity import Rules
from shared.podsecurity.rules import ENFORCE
from tests.agent.build import a_config_map, a_deployment, a_namespace
from tests.agent.scripted_hub import a_job, an_object

HOST = {"hostNetwork": True, "hostPID": True, "hostIPC": True}


def labelled(level):
    namespace = a_namespace("team")
    if level is not None:
        namespace["metadata"]["labels"] = {ENFORCE: level}
    return an_object(namespace, "o")


@pytest.mark.parametrize(
    ("own", "asked", "refused"),
    [
        ("baseline", "privileged", True),
        ("baseline", "baseline", False),
        ("baseline", "restricted", False),
        ("restricted", "baseline", True),
        ("restricted", "restricted", False),
        ("privileged", "privileged", False),
        ("restricted", None, False),
    ],
)
def test_a_namespace_may_be_as_strict_as_the_member_and_stricter(own, asked, refused):
    """Its own level included; one that asks for none weakens nothing."""
    policy = MemberPolicy(Rules(level=own))
    assert (policy.refuse(labelled(asked), "Apply") is not None) is refused


@pytest.mark.parametrize(
    ("kinds", "taken"),
    [
        ("*", (True, True)),
        ("core/*", (True, False)),
        ("apps/*", (False, True)),
        ("apps/Deployment", (False, True)),
        ("apps/v1/Deployment", (False, False)),
        ("core/ConfigMap,apps/*", (True, True)),
        ("core/Secret", (False, False)),
    ],
)
def test_kinds_are_listed_by_group_and_kind(kinds, taken):
    """Whatever the version; the core group is `core`. Jobs are taken all the same."""
    policy = MemberPolicy(kinds=kinds)
    works = (an_object(a_config_map(), "c"), an_object(a_deployment(), "d"))
    assert tuple(policy.refuse(work, "Apply") is None for work in works) == taken
    assert policy.refuse(a_job(), "Create") is None


@pytest.mark.parametrize(("fields", "more"), [(1, ""), (2, " (and 1 more)"), (3, " (and 2 more)")])
def test_a_refusal_says_how_many_others_there_are(fields, more):
    """The first is named; the rest are counted without it."""
    work = a_job()
    work.manifest["spec"]["template"]["spec"] |= dict(list(HOST.items())[:fields])
    trouble = MemberPolicy().refuse(work, "Create")
    assert trouble.final
    assert trouble.message.endswith(more) if more else "more)" not in trouble.message


@pytest.mark.parametrize(
    ("step", "judged"),
    [("Create", True), ("Apply", True), ("Start", False), ("PatchJob", False), ("Delete", False)],
)
def test_only_what_makes_pods_is_judged(step, judged):
    """A Job that was created may be started, changed in size, and deleted."""
    work = a_job()
    work.manifest["spec"]["template"]["spec"]["hostNetwork"] = True
    assert (MemberPolicy().refuse(work, step) is not None) is judged


SERVERS = {
    "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "u"}],
    "finalizers": ["example.com/keep"],
    "deletionTimestamp": "2026-01-01T00:00:00Z",
    "deletionGracePeriodSeconds": 1,
    "managedFields": [{"manager": "someone"}],
    "selfLink": "/api/v1",
    "uid": "u",
    "resourceVersion": "1",
    "generateName": "x-",
    "unheardOf": "x",
}


@pytest.mark.parametrize("field", SERVERS)
@pytest.mark.parametrize("step", ["Create", "Apply"])
def test_a_manifest_that_sets_other_metadata_is_refused(step, field):
    """A hub sends name, namespace, labels and annotations; the refusal names the field."""
    work = a_job() if step == "Create" else an_object(a_config_map(), "o")
    work.manifest["metadata"][field] = SERVERS[field]
    trouble = MemberPolicy().refuse(work, step)
    assert trouble is not None
    assert trouble.final
    assert trouble.message.startswith(f"ForbiddenField: metadata.{field}: ")


@pytest.mark.parametrize("nothing", [None, [], "", {}])
def test_empty_metadata_is_no_reason_to_refuse(nothing):
    """Tools write `creationTimestamp: null`, for instance."""
    work = an_object(a_config_map(), "o")
    work.manifest["metadata"] |= dict.fromkeys([*SERVERS, "creationTimestamp"], nothing)
    assert MemberPolicy().refuse(work, "Apply") is None


@pytest.mark.parametrize("part", ["namespace", "name", "kind", "apiVersion"])
def test_the_manifest_is_of_the_object_that_was_announced(part):
    """In each of the four that say which object it is."""
    work = an_object(a_config_map(), "c")
    if part in {"namespace", "name"}:
        work.manifest["metadata"][part] = "other"
    else:
        work.manifest[part] = "v2" if part == "apiVersion" else "Secret"
    assert MemberPolicy().refuse(work, "Apply") is not None
