"""The member's own policy: whatever a hub sends, nothing is written that this agent's rules forbid."""

import json

import pytest

from agent.config import from_arguments
from agent.decide.member_policy import MemberPolicy
from shared.kube import errors
from shared.podsecurity import Rules
from tests.agent.build import a_config_map, a_deployment, a_namespace
from tests.agent.scripted_hub import a_job, an_object, eventually
from tests.bad_inputs.cases import job_cases

pytestmark = pytest.mark.anyio
POLICY = range(32, 41)  # of the bad inputs
STRICT = MemberPolicy(Rules(level="restricted"))
REFUSED = "RefusedByMember"


def a_hostile_job(uid="bad", name="bad", *, namespace="team", **pod):
    """A Job's work as the hub would compose it, with these fields in its pod."""
    work = a_job(uid, name, namespace=namespace)
    work.manifest["spec"]["template"]["spec"] |= pod
    return work


def _forbidden():
    """The policy rows of the bad inputs, as manifests that a hub sends all the same."""
    for case in job_cases():
        if case.number in POLICY:
            work = a_job(f"u-{case.id}", f"bad-{case.number}-{case.variant}")
            sent = json.loads(case.body)["spec"]
            work.manifest["spec"] |= {k: v for k, v in sent.items() if k != "template"}
            work.manifest["spec"]["template"]["spec"] |= sent["template"]["spec"]
            yield work


async def jobs_of(member):
    return [each["metadata"]["name"] for each in (await member.kube.list("batch/v1", "Job")).items]


async def test_what_the_hub_should_have_refused_is_not_created(member):
    """Every policy row of the bad inputs, sent by the hub: refused for good, and nothing is created."""
    works = list(_forbidden())
    member.hub.put(*works)
    member.start(policy=STRICT)
    for work in works:
        entry = await member.hub.seen(work.uid, "Failed", REFUSED)
        assert ": spec." in entry.message
    assert await jobs_of(member) == []


async def test_the_refusal_names_field_and_rule(member):
    """The message says the code, the path, the level and the rule."""
    member.hub.put(a_hostile_job(hostNetwork=True))
    member.start()
    entry = await member.hub.seen("bad", "Failed", REFUSED)
    assert entry.message.startswith(
        "PolicyViolation: spec.template.spec.hostNetwork: baseline/hostNamespaces: "
    )


async def test_a_refusal_is_said_once(member):
    """It is final: the agent tries nothing again until the work changes."""
    member.hub.put(a_hostile_job(hostNetwork=True), a_job("good", "good"))
    member.start()
    await member.hub.seen("bad", "Failed", REFUSED)
    await member.hub.finished("good")
    said = [each.phase for each in member.hub.told if each.uid == "bad"]  # first, it may be coming
    assert [phase for phase in said if phase != "Waiting"] == ["Failed"]


async def test_a_corrected_job_is_created(member):
    """The next epoch is judged by what it asks for."""
    member.hub.put(a_hostile_job("u", "job", hostNetwork=True))
    member.start()
    await member.hub.seen("u", "Failed", REFUSED)
    member.hub.put(a_job("u", "job", epoch=2))
    await member.hub.finished("u")


async def test_a_refused_job_is_gone_at_once(member):
    """Withdrawn: nothing of it was ever there, and the agent says so."""
    member.hub.put(a_hostile_job("u", "job", hostNetwork=True))
    member.start()
    await member.hub.seen("u", "Failed", REFUSED)
    member.hub.put(a_job("u", "job", generation=2, action="Withdraw"))
    await member.hub.seen("u", "Gone")


@pytest.mark.parametrize("namespace", ["kube-system", "roadstead", "elsewhere"])
async def test_only_allowed_namespaces_are_written_to(member, namespace):
    """A namespace that is denied, or not on the list, gets nothing and is not created."""
    member.hub.put(a_hostile_job(namespace=namespace))
    member.start(policy=MemberPolicy(Rules(namespaces="team,kube-*,roadstead")))
    entry = await member.hub.seen("bad", "Failed", REFUSED)
    assert entry.message.startswith("NamespaceNotAllowed: metadata.namespace")
    assert await jobs_of(member) == []
    if namespace == "elsewhere":
        with pytest.raises(errors.NotFound):
            await member.kube.get("v1", "Namespace", "", namespace)


async def test_a_denied_namespace_is_not_written_itself(member):
    """Namespaces are judged by their own name, whatever labels the hub sends for them."""
    denied = a_namespace("roadstead-system")
    denied["metadata"]["labels"] = {"team": "a"}
    member.hub.put(an_object(denied, "denied"), an_object(a_namespace("mine"), "mine"))
    member.start()
    entry = await member.hub.seen("denied", "Failed", REFUSED)
    assert entry.message.startswith("NamespaceNotAllowed: metadata.namespace")
    await member.hub.seen("mine", "Applied")


async def test_another_object_than_announced_is_not_written(member):
    """The manifest must be of the kind, namespace and name that the work says."""
    work = a_hostile_job()
    work.manifest["metadata"]["namespace"] = "kube-system"
    member.hub.put(work)
    member.start()
    await member.hub.seen("bad", "Failed", REFUSED)
    assert await jobs_of(member) == []


async def test_profile_jobs_takes_jobs_alone(member):
    """With profile `jobs` no object is written; Jobs are."""
    member.hub.put(an_object(a_config_map(), "o"), a_job("good", "good"))
    member.start(policy=MemberPolicy(profile="jobs"))
    entry = await member.hub.seen("o", "Failed", REFUSED)
    assert "profile jobs" in entry.message
    await member.hub.finished("good")


async def test_kinds_can_be_listed(member):
    """With a list of kinds, any other is refused."""
    member.hub.put(an_object(a_config_map(), "c"), an_object(a_deployment(), "d"))
    member.start(policy=MemberPolicy(kinds="core/ConfigMap"))
    await member.hub.seen("c", "Applied")
    await member.hub.seen("d", "Failed", REFUSED)


async def test_pods_of_other_kinds_are_judged(member):
    """A Deployment with privileged pods is refused; one without is applied."""
    bad = a_deployment()
    bad["metadata"]["name"] = "bad"
    bad["spec"]["template"]["spec"]["hostPID"] = True
    member.hub.put(an_object(bad, "bad"), an_object(a_deployment(), "good"))
    member.start()
    entry = await member.hub.seen("bad", "Failed", REFUSED)
    assert "spec.template.spec.hostPID" in entry.message
    await eventually(lambda: member.hub.observed["good"].phase == "Applied")


async def test_a_worse_update_leaves_what_stands(member):
    """An applied object whose next manifest is refused stays as it was."""
    member.hub.put(an_object(a_deployment(), "d"))
    member.start()
    await member.hub.seen("d", "Applied")
    worse = a_deployment(replicas=2)
    worse["spec"]["template"]["spec"]["hostPID"] = True
    member.hub.put(an_object(worse, "d", generation=2))
    await member.hub.seen("d", "Failed", REFUSED)
    live = await member.kube.get("apps/v1", "Deployment", "team", "web")
    assert live["spec"]["replicas"] == 1


async def test_a_namespace_may_not_be_weakened(member):
    """A hub can not take the member's own Pod Security level down by a label, nor its version; up it may."""
    weak, old, strong = a_namespace("weak"), a_namespace("old"), a_namespace("strong")
    key = "pod-security.kubernetes.io/enforce"
    weak["metadata"]["labels"] = {key: "privileged"}
    old["metadata"]["labels"] = {key: "baseline", f"{key}-version": "v1.0"}
    strong["metadata"]["labels"] = {key: "restricted", f"{key}-version": "latest"}
    member.hub.put(an_object(weak, "weak"), an_object(old, "old"), an_object(strong, "strong"))
    member.start()
    await member.hub.seen("weak", "Failed", REFUSED)
    await member.hub.seen("old", "Failed", REFUSED)
    await member.hub.seen("strong", "Applied")


def settings_from(**environ):
    needed = {"ROADSTEAD_HUB": "https://hub", "ROADSTEAD_CREDENTIAL": "/tmp/c"}
    return from_arguments([], {**needed, **environ})[0]


def test_an_agent_is_at_baseline_unless_told():
    """Baseline, jobs and objects, every namespace but a cluster's own and Roadstead's."""
    policy = settings_from().policy
    assert (policy.rules, policy.profile, policy.kinds) == (Rules(), "objects", "*")


def test_the_gate_is_set_by_the_agents_own_environment():
    """ROADSTEAD_AGENT_…; an empty one is not set, and `none` is an empty list."""
    policy = settings_from(
        ROADSTEAD_AGENT_POD_SECURITY="restricted",
        ROADSTEAD_AGENT_POD_SECURITY_LEVELS="infra=privileged",
        ROADSTEAD_AGENT_NAMESPACES="team-*",
        ROADSTEAD_AGENT_PROFILE="jobs",
        ROADSTEAD_AGENT_FIELDS="none",
        ROADSTEAD_AGENT_SCHEDULERS="",
    ).policy
    assert policy.profile == "jobs"
    assert (policy.rules.level, policy.rules.namespaces, policy.rules.fields) == (
        "restricted",
        "team-*",
        "none",
    )
    assert policy.rules.schedulers == Rules().schedulers
    assert policy.rules.level_of("infra") == "privileged"
    assert policy.rules.level_of("team-a") == "restricted"


@pytest.mark.parametrize(
    "wrong", [{"PROFILE": "all"}, {"POD_SECURITY": "none"}, {"FIELDS": "hostPath"}], ids=str
)
def test_a_setting_that_can_not_be_meant_stops_the_agent(wrong, capsys):
    """Exit with usage and the values that are expected."""
    with pytest.raises(SystemExit):
        settings_from(**{f"ROADSTEAD_AGENT_{key}": value for key, value in wrong.items()})
    assert "expected" in capsys.readouterr().err


def test_pods_of_other_kinds_with_labels_of_a_job_are_refused():
    """The agent would count them as that job's."""
    deployment = a_deployment()
    marks = deployment["spec"]["template"]["metadata"]["labels"]
    marks["roadstead.dev/job-uid"] = "u-2"
    said = MemberPolicy().refuse(an_object(deployment, "o-1"), "Apply")
    field = "spec.template.metadata.labels[roadstead.dev/job-uid]"
    assert said is not None
    assert said.message.startswith(f"ReservedLabel: {field}: ")
