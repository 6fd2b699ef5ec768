"""The agent writes only in namespaces that accept the hub, and reports those that the hub named."""

import pytest

from agent.decide.member_policy import MemberPolicy
from shared import labels
from shared.kubesim.server.app import ConnectionCut
from shared.podsecurity import Rules
from shared.wire.consent import NamedNamespaces
from tests.agent.build import a_config_map
from tests.agent.scripted_hub import HUB_ID, a_job, an_object, eventually

pytestmark = pytest.mark.anyio


def states_of(hub):
    """The last report of consent."""
    reports = [r.capacity for r in hub.requests if r.capacity is not None]
    told = [each.consent for each in reports if each.consent is not None]
    return told[-1].states if told else None


async def test_a_job_is_not_created_in_a_namespace_that_does_not_accept_the_hub(member):
    """The refusal names the command; once the namespace accepts the hub, the Job is created."""
    await member.namespace("finance", accept=False)
    member.hub.put(a_job(namespace="finance"))
    member.start()
    entry = await member.hub.seen("u-1", "Failed", "NotAccepted")
    assert entry.message.endswith(f"kubectl label namespace finance {labels.ACCEPT}={HUB_ID}")
    assert not member.cluster.store.list("jobs.batch", "finance")
    await member.accept("finance")
    await member.hub.finished("u-1")


async def test_a_refused_job_is_told_to_have_never_started(member):
    """Its withdrawal proves that there was no attempt."""
    await member.namespace("finance", accept=False)
    member.hub.put(a_job(namespace="finance", fresh=True))
    member.start()
    await member.hub.seen("u-1", "Failed", "NotAccepted")
    member.hub.put(a_job(namespace="finance", fresh=True, action="Withdraw"))
    assert (await member.hub.seen("u-1", "Gone")).unstarted


async def test_a_job_that_an_earlier_session_was_told_of_may_have_started(member):
    """That session's requests are unknown: the withdrawal does not report that the Job never started."""
    await member.namespace("finance", accept=False)
    member.hub.put(a_job(namespace="finance", fresh=False))
    member.start()
    await member.hub.seen("u-1", "Failed", "NotAccepted")
    member.hub.put(a_job(namespace="finance", fresh=False, action="Withdraw"))
    assert not (await member.hub.seen("u-1", "Gone")).unstarted


async def test_a_namespace_that_the_agent_creates_is_usable(member):
    """For the first Job in it and for the next one."""
    member.start()
    for uid in ("u-1", "u-2"):
        member.hub.put(a_job(uid, f"job-{uid}", namespace="made"))
        await member.hub.finished(uid)


async def test_a_namespace_that_appears_before_the_post_is_judged(member):
    """A person creates it between the agent's check and its creation: the agent creates nothing in it."""
    intercepted = AppearsFirst(member, "finance")
    member.hub.put(a_job(namespace="finance"))
    member.start()
    await member.hub.seen("u-1", "Failed", "NotAccepted")
    assert intercepted.done
    assert not member.cluster.store.list("jobs.batch", "finance")


class AppearsFirst:
    """Creates a namespace right before the agent's attempt to create it."""

    def __init__(self, member, name):
        self._member, self._name = member, name
        self.done = False
        self._then = member.cluster.server.intercept
        member.cluster.server.intercept = self

    async def before(self, call, verb):
        if verb == "create" and call.resource.plural == "namespaces" and not self.done:
            self.done = True
            await self._member.namespace(self._name, accept=False)
        return await self._then.before(call, verb) if self._then else None

    async def after(self, call, verb, reply):
        return await self._then.after(call, verb, reply) if self._then else reply


async def test_consent_that_is_withdrawn_stops_new_writes(member):
    """An object of ours stays as it is; its next version is refused."""
    await member.namespace("finance")
    member.hub.put(an_object(a_config_map(namespace="finance"), "o-1"))
    member.start()
    await member.hub.seen("o-1", "Applied")
    await member.accept("finance", False)
    newer = a_config_map(namespace="finance", colour="green")
    member.hub.put(an_object(newer, "o-1", generation=2))
    await member.hub.until(lambda hub: hub.observed["o-1"].reason == "NotAccepted")
    live = await member.kube.get("v1", "ConfigMap", "finance", "settings")
    assert live["data"] == {"colour": "red"}


async def test_a_job_is_not_started_once_consent_is_withdrawn(member):
    """Its Job was created while the namespace accepted the hub; it stays unstarted, and is withdrawn."""
    await member.namespace("finance")
    withdrawn = WithdrawnBeforeTheStart(member, "finance")
    member.hub.put(a_job(namespace="finance"))
    member.start()
    await member.hub.seen("u-1", "Failed", "NotAccepted")
    (job,) = member.cluster.store.list("jobs.batch", "finance")
    assert withdrawn.done
    assert job["spec"]["suspend"]
    member.hub.put(a_job(namespace="finance", action="Withdraw"))
    await member.hub.seen("u-1", "Gone")
    await eventually(lambda: not member.cluster.store.list("jobs.batch", "finance"))


async def test_a_start_that_was_refused_before_its_request_is_none(member):
    """The Job exists, and the agent sent no start request: it never started."""
    await member.namespace("finance")
    WithdrawnBeforeTheStart(member, "finance")
    member.hub.put(a_job(namespace="finance", fresh=True))
    member.start()
    await member.hub.seen("u-1", "Failed", "NotAccepted")
    member.hub.put(a_job(namespace="finance", fresh=True, action="Withdraw"))
    assert (await member.hub.seen("u-1", "Gone")).unstarted


async def test_a_start_without_an_answer_may_have_taken_effect(member):
    """The member did not answer the request: the withdrawal does not report that the Job never started."""
    await member.namespace("finance")
    lost = LostStart(member)
    member.hub.put(a_job(namespace="finance", fresh=True))
    member.start()
    await eventually(lambda: lost.done)
    member.hub.put(a_job(namespace="finance", fresh=True, action="Withdraw"))
    assert not (await member.hub.seen("u-1", "Gone")).unstarted


@pytest.mark.parametrize("lost", [False, True])
async def test_a_start_that_the_member_denies_is_none(member, lost):
    """Its answer proves that the request has no effect, unless an earlier one was not answered."""
    denied = member.cluster.faults.add("403", verb="patch", resource="jobs", count=0)
    first = LostStart(member) if lost else None
    member.hub.put(a_job(fresh=True))
    member.start()
    await eventually(lambda: denied.hits)
    await member.hub.seen("u-1", "Failed", "ApplyFailed")
    member.hub.put(a_job(fresh=True, action="Withdraw"))
    tracked = member.agent.reconciler.tracked_works["u-1"]
    # A retried start may be under way: it is denied, too, and none follows it.
    await eventually(lambda: tracked.work.action == "Withdraw" and not tracked.busy)
    member.cluster.faults.remove(denied.id)
    assert (await member.hub.seen("u-1", "Gone")).unstarted is not lost
    assert first is None or first.done
    phases = {each.phase for each in member.hub.told}
    assert lost or "Applied" not in phases  # which the hub would take for a start


class LostStart:
    """Carries out no start, and answers as a server that is down."""

    def __init__(self, member):
        self.done = False
        self._then = member.cluster.server.intercept
        member.cluster.server.intercept = self

    async def before(self, call, verb):
        if verb == "patch" and call.resource.plural == "jobs" and not self.done:
            self.done = True
            raise ConnectionCut
        return await self._then.before(call, verb) if self._then else None

    async def after(self, call, verb, reply):
        return await self._then.after(call, verb, reply) if self._then else reply


class WithdrawnBeforeTheStart:
    """Withdraws consent while the Job is created, and answers once the agent can see it."""

    def __init__(self, member, name):
        self._member, self._name = member, name
        self.done = False
        self._then = member.cluster.server.intercept
        member.cluster.server.intercept = self

    async def before(self, call, verb):
        return await self._then.before(call, verb) if self._then else None

    async def after(self, call, verb, reply):
        if verb == "create" and call.resource.plural == "jobs" and not self.done:
            self.done = True
            await self._member.accept(self._name, False)
            watch = self._member.agent.reconciler.watch
            await eventually(lambda: watch._cached(self._name) == "NotAccepted")
        return await self._then.after(call, verb, reply) if self._then else reply


def automount(member):
    """What the stored Job's pods say."""
    (job,) = member.cluster.store.list("jobs.batch", "finance")
    return job["spec"]["template"]["spec"].get("automountServiceAccountToken")


async def test_pods_in_a_namespace_of_the_members_people_get_no_token(member):
    """In Jobs and in other kinds; the rest of the manifest does not change."""
    await member.namespace("finance")
    member.hub.put(a_job(namespace="finance", run_seconds="60"))
    member.hub.put(an_object(a_deployment(), "o-1"))
    member.start()
    await member.hub.seen("u-1", "Applied")
    await member.hub.seen("o-1", "Applied")
    assert automount(member) is False
    live = await member.kube.get("apps/v1", "Deployment", "finance", "web")
    assert live["spec"]["template"]["spec"]["automountServiceAccountToken"] is False
    assert member.hub.observed["o-1"].drift in (None, [])


async def test_label_accept_tokens_lets_pods_have_one(member):
    """The agent writes the manifest unchanged."""
    await member.namespace("finance")
    await member.label("finance", {labels.ACCEPT_TOKENS: "true"})
    member.hub.put(a_job(namespace="finance", run_seconds="60"))
    member.start()
    await member.hub.seen("u-1", "Applied")
    assert automount(member) is None


async def test_a_job_that_asks_for_a_token_is_refused_without_that_label(member):
    """The refusal names the path and the command; other members may take it."""
    await member.namespace("finance")
    work = a_job(namespace="finance")
    work.manifest["spec"]["template"]["spec"]["automountServiceAccountToken"] = True
    member.hub.put(work)
    member.start(policy=MemberPolicy(Rules(fields="automountServiceAccountToken")))
    entry = await member.hub.seen("u-1", "Failed", "TokenNotAllowed")
    assert "spec.template.spec.automountServiceAccountToken" in entry.message
    assert f"kubectl label namespace finance {labels.ACCEPT_TOKENS}=true" in entry.message


async def test_a_namespace_that_the_agent_created_is_not_affected(member):
    """Kinds whose pods call the API server work there."""
    member.hub.put(a_job(namespace="finance", run_seconds="60"))
    member.start()
    await member.hub.seen("u-1", "Applied")
    assert automount(member) is None


def a_deployment():
    chosen = {"app": "web"}
    pod = {"containers": [{"name": "main", "image": "nginx:1.27"}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "finance"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": chosen},
            "template": {"metadata": {"labels": chosen}, "spec": pod},
        },
    }


async def test_the_states_of_named_namespaces_are_reported(member):
    """Only these, and again when one of them changes."""
    await member.namespace("finance", accept=False)
    await member.namespace("secret", accept=False)
    member.hub.named = NamedNamespaces(revision=1, names=["finance", "team", "absent", "default"])
    member.start(policy=MemberPolicy(accepted="default"))
    wanted = {"finance": "NotAccepted", "team": "Labelled", "absent": "Absent", "default": "Named"}
    await eventually(lambda: states_of(member.hub) == wanted)
    await member.accept("finance")
    await eventually(lambda: (states_of(member.hub) or {}).get("finance") == "Labelled")


async def test_a_running_job_does_not_grow_once_consent_is_withdrawn(member):
    """Its parallelism stays, so no new pod starts; the Job continues, and the report gives the reason."""
    await member.namespace("finance")
    job = {"namespace": "finance", "run_seconds": "600", "completions": 4}
    member.hub.put(a_job(parallelism=1, **job))
    member.start()
    await member.hub.seen("u-1", "Applied")
    await member.accept("finance", False)
    member.hub.put(a_job(parallelism=3, generation=2, **job))
    await member.hub.until(lambda hub: hub.observed["u-1"].reason == "ChangeRefused")
    live = await member.kube.get("batch/v1", "Job", "finance", "job")
    assert live["spec"]["parallelism"] == 1
