"""The second gate of a member on a real API server: what the agent's account may not write is denied.

The simulated cluster evaluates no CEL, so it is proven here alone. What is sent goes with the credentials
of the agent's own account and the rights of its chart; that the same is taken from an administrator shows
that it is this policy that denies.
"""

import asyncio
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from agent.config import Settings
from agent.decide.member_policy import MemberPolicy
from agent.main import Agent
from agent.objects.tokens import without_tokens
from shared.podsecurity import Rules
from shared.wire.agent_v1 import Work
from tests import waiting
from tests.agent.scripted_hub import ScriptedHub
from tests.attack.hostile import (
    HARDENED,
    TENANT,
    HostileJob,
    harmless_job,
    hostile_jobs,
)
from tests.attack.hostile_objects import HostileObject, hostile_objects
from tests.attack.works import work_of
from tests.charts import helm
from tests.charts.helm import AGENT, Release
from tests.e2e.running import REPOSITORY, until
from tests.realkube import build
from tests.realkube.gate import MANAGER, Gate, ensure_namespace, marked, said_to
from tests.realkube.plane import Plane, PlaneError

pytestmark = [pytest.mark.realkube, pytest.mark.timeout(500)]
_MARK = {"roadstead.dev/managed-by": "hub-1"}


@pytest.fixture(scope="module")
def gate(real_control_plane: Plane) -> Iterator[Gate]:
    """The defaults, and one namespace that is restricted."""
    made = Gate(real_control_plane, {"podSecurityLevels": f"{HARDENED}=restricted"})
    yield made
    helm.uninstall(made.release, real_control_plane.kubeconfig)


def _is_known(hostile: HostileJob) -> bool:
    return build.version() >= hostile.since


OPEN = [each for each in hostile_jobs() if not each.fields and _is_known(each)]
CLOSED = [each for each in hostile_jobs() if each.fields and _is_known(each)]


@pytest.mark.parametrize("hostile", OPEN, ids=lambda each: each.name)
def test_the_policy_denies_what_no_tenant_may_run(gate: Gate, hostile: HostileJob) -> None:
    """With the agent's credentials: denied by the policy, with the code; taken from an administrator."""
    manifest = hostile.manifest
    if hostile.code == "NamespaceNotAllowed":  # or the rule of tokens may answer first
        manifest = without_tokens(manifest)
    said = gate.said(marked(manifest))
    assert "ValidatingAdmissionPolicy 'roadstead-agent-" in said, said
    assert f"{hostile.code}: " in said
    assert "(server dry run)" in said_to(gate.plane, hostile.manifest, "create")


@pytest.mark.parametrize(
    "command",
    [each for each in hostile_objects() if not each.is_beyond_policies],
    ids=lambda each: each.name,
)
def test_the_policy_denies_other_commands(gate: Gate, command: HostileObject) -> None:
    """Every right granted to the account, and still: denied by the policy, with the code."""
    said = gate.said(marked(command.manifest))
    assert "ValidatingAdmissionPolicy 'roadstead-agent-" in said, said
    assert f"{command.code}: " in said


OPEN_AGENT = MemberPolicy(
    Rules(
        level="privileged",
        denied_namespaces="none",
        service_accounts="*",
        schedulers="mine",
        priority_classes="*,system-cluster-critical",
        token_audiences="https://kubernetes.default.svc",
        fields="nodeName,csi,terminationGracePeriodSeconds,tolerateEverything,controlPlane,hostUsers",
    ),
    accepted="roadstead",
)


def _reaches_the_server(work: Work) -> bool:
    """No setting opens `kube-*`: the agent refuses these namespaces for lack of consent."""
    refused = OPEN_AGENT.refuse(work, "Create") is not None
    return not refused and not work.namespace.startswith("kube-")


@pytest.mark.anyio
async def test_an_agent_that_judges_nothing_gets_no_further(gate: Gate, tmp_path: Path) -> None:
    """A hub that has been taken over and an agent without rules: the member's API server refuses for good."""
    hub = ScriptedHub()
    sent = [each for each in OPEN if _reaches_the_server(work_of(each.manifest, "u"))]
    assert len(sent) >= 35
    hub.put(*(work_of(each.manifest, f"u-{each.name}") for each in sent))
    hub.put(work_of(harmless_job(), "u-harmless"))
    token = tmp_path / "join.token"
    token.write_text("join-me")
    settings = Settings(
        hub_url="http://hub",
        credential=tmp_path / "credential.json",
        kubeconfig=gate.account,
        join_token=token,
        policy=OPEN_AGENT,
    )
    running = asyncio.create_task(Agent(settings, transport=hub).run())
    try:
        for each in sent:
            entry = await hub.seen(f"u-{each.name}", "Failed", "RefusedByMember", timeout_s=60)
            assert f"{each.code}: " in entry.message
        await hub.finished("u-harmless")
    finally:
        await waiting.ended(running)
    names = gate.plane.kubectl("get", "jobs", "-A", "-o", "jsonpath={.items[*].metadata.name}")
    assert not {each.name for each in sent} & set(names.split())


def test_harmless_jobs_pass(gate: Gate) -> None:
    """What the hostile are made from, a Job of a restricted namespace, the guide's and the examples'."""
    hard = harmless_job("hard", HARDENED)
    hard["spec"]["template"]["spec"]["securityContext"] = {
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    hard["spec"]["template"]["spec"]["containers"][0]["securityContext"] = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]},
    }
    for job in (harmless_job("by-itself"), hard, *_jobs_of_the_examples()):
        ensure_namespace(gate.plane, job["metadata"].setdefault("namespace", "default"))
        assert "created" in (said := gate.said(marked(job))), said


def _jobs_of_the_examples() -> Iterator[dict[str, Any]]:
    for path in sorted((REPOSITORY / "examples").rglob("*.yaml")):
        for each in yaml.safe_load_all(path.read_text()):
            if isinstance(each, dict) and each.get("kind") == "Job":
                yield each


def test_what_is_not_roadsteads_is_out_of_reach(gate: Gate) -> None:
    """No Job without the mark is changed or deleted, whatever the rights; what has it, is."""
    plane = gate.plane
    mine = marked(harmless_job("mine"))
    mine["spec"]["suspend"] = True
    plane.create(harmless_job("theirs") | {"spec": mine["spec"]})
    plane.create(mine, manager="roadstead")

    def tried(name: str, *arguments: str) -> str:
        try:
            return plane.kubectl("-n", TENANT, *arguments, kubeconfig=gate.account)
        except PlaneError as refusal:
            return str(refusal)

    patch = ("--type=merge", "-p", json.dumps({"metadata": {"labels": _MARK}}))
    assert "changes no Job" in tried("theirs", "patch", "job", "theirs", *patch)
    assert "denied request" in tried("theirs", "delete", "job", "theirs", "--wait=false")
    assert "patched" in tried("mine", "patch", "job", "mine", "--type=merge", "-p", _resumed())
    assert "deleted" in tried("mine", "delete", "job", "mine", "--wait=false")
    plane.kubectl("-n", TENANT, "delete", "job", "theirs", "--wait=false")


def _resumed() -> str:
    return json.dumps({"spec": {"suspend": False}})


def test_what_was_taken_may_be_let_go(real_control_plane: Plane, gate: Gate) -> None:
    """A Job made under wider rules, or in a namespace denied since, can still be changed and deleted."""
    plane, old = real_control_plane, marked(harmless_job("old", "kube-public"))
    old["spec"]["suspend"] = True
    old["spec"]["template"]["spec"]["hostPID"] = True
    old["metadata"]["finalizers"] = ["roadstead.dev/result"]
    plane.create(old, manager="roadstead")
    released = json.dumps({"metadata": {"finalizers": []}})
    for arguments in (
        ("delete", "job", "old", "--wait=false"),
        ("patch", "job", "old", "--type=merge", "-p", released),
    ):
        plane.kubectl("-n", "kube-public", *arguments, kubeconfig=gate.account)


def test_addresses_of_a_service_that_was_taken_over_may_stay(gate: Gate) -> None:
    """What was there is no claim of the hub's; one address more is."""
    plane, name = gate.plane, "lent-addresses"
    spec = {"ports": [{"port": 443}], "externalIPs": ["192.0.2.1"]}
    metadata = {"name": name, "namespace": TENANT}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}
    plane.kubectl("apply", "-f", "-", stdin=json.dumps(service))
    take = {"apiVersion": "v1", "kind": "Service", "metadata": {**metadata, "labels": _MARK}}
    signed = ("apply", "--server-side", MANAGER, "--force-conflicts", "-f", "-")
    plane.kubectl(*signed, stdin=json.dumps(take))
    try:
        changed = {**spec, "ports": [{"port": 444}]}
        assert "denied request" not in gate.said(marked({**service, "spec": changed}), "apply")
        more = {**changed, "externalIPs": ["192.0.2.1", "192.0.2.2"]}
        said = gate.said(marked({**service, "spec": more}), "apply")
        assert "takes no Service with externalIPs" in said
    finally:
        plane.kubectl("delete", "service", name, "-n", TENANT)


@pytest.mark.parametrize(
    ("kind", "namespace", "name"),
    [
        ("ConfigMap", "kube-system", "into-it"),
        ("Deployment", "kube-system", "into-it"),
        ("ConfigMap", "roadstead", "into-it"),
        ("Namespace", "", "kube-new"),
    ],
)
@pytest.mark.parametrize("finalizers", [[], ["example.com/keep"]], ids=["plain", "kept"])
def test_a_deletion_that_the_request_claims_opens_no_namespace(
    gate: Gate, kind: str, namespace: str, name: str, finalizers: list[str]
) -> None:
    """A server-side apply that creates may bring `deletionTimestamp`; the stored object counts."""
    manifest = _claimed(kind, namespace, name, finalizers)
    applied = ("apply", "--server-side", "--field-manager=roadstead", "-f", "-")
    try:
        said = gate.plane.kubectl(*applied, stdin=json.dumps(manifest), kubeconfig=gate.account)
    except PlaneError as refusal:
        said = str(refusal)
    codes = ["NamespaceNotAllowed", *(("ForbiddenField",) if finalizers else ())]
    assert any(f"denied request: {code}" in said for code in codes), said
    where = ("-n", namespace) if namespace else ()
    assert gate.plane.kubectl(*where, "get", kind, name, "--ignore-not-found") == ""


def _claimed(kind: str, namespace: str, name: str, finalizers: list[str]) -> dict[str, Any]:
    deleted = "2026-01-01T00:00:00Z"
    metadata = {"name": name, "deletionTimestamp": deleted, "finalizers": finalizers}
    if namespace:
        metadata["namespace"] = namespace
    if kind != "Deployment":
        return marked({"apiVersion": "v1", "kind": kind, "metadata": metadata})
    pod = {
        "metadata": {"labels": {"app": name}},
        "spec": {
            "automountServiceAccountToken": False,
            "containers": [{"name": "main", "image": "nginx:1.27"}],
        },
    }
    spec = {"selector": {"matchLabels": {"app": name}}, "template": pod}
    return marked({"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec})


def test_the_policies_are_sound(gate: Gate) -> None:
    """The API server has checked their types and has no warning."""
    for name in ("writes", "pods"):
        asked = ("get", "validatingadmissionpolicy", f"roadstead-agent-{name}", "-o", "json")
        until(partial(_status, gate.plane, asked), 30, "it is checked")
        status = _status(gate.plane, asked)
        assert not status.get("typeChecking", {}).get("expressionWarnings"), status


def _status(plane: Plane, asked: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(plane.kubectl(*asked)).get("status", {})
    return found


def test_nobody_else_is_judged(gate: Gate) -> None:
    """The policy is the agent's alone: other accounts write what their rights allow."""
    job = marked(hostile_jobs()[0].manifest)
    assert "created" in said_to(gate.plane, job, "create")


def _denies(gate: Gate, hostile: HostileJob) -> bool:
    return hostile.code in gate.said(marked(hostile.manifest))


def test_what_an_administrator_closes_is_closed(gate: Gate) -> None:
    """With no field open, three more are denied; with the pods' level open, all of baseline is taken."""
    plane = gate.plane
    strict = Release(AGENT, {**gate.release.values, "policy": {"fields": "none"}})
    helm.install(strict, plane.kubeconfig)
    try:
        for hostile in CLOSED:
            until(partial(_denies, gate, hostile), 30, hostile.name)
        wide = {"podSecurity": "privileged", "fields": "hostAliases", "kinds": "core/*"}
        helm.install(Release(AGENT, {**gate.release.values, "policy": wide}), plane.kubeconfig)
        by_name = {each.name: each.manifest for each in hostile_jobs()}
        until(lambda: "created" in gate.said(marked(by_name["host-pid"])), 30, "privileged")
        assert "created" in gate.said(marked(by_name["host-aliases"]))
        assert "PlacementFieldForbidden" in gate.said(marked(by_name["node-name"]))
        deployment = next(each for each in hostile_objects() if each.name == "deployment")
        assert "UnsupportedKind" in gate.said(marked(deployment.manifest))
    finally:
        helm.install(gate.release, plane.kubeconfig)
