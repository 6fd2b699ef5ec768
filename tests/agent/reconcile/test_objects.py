"""Objects other than Jobs: applied in waves, kept as declared, taken over by rule, told where they drift."""

import asyncio

import pytest

from shared.kube import errors
from shared.wire.agent_v1 import Drift
from tests.agent.build import a_config_map, a_deployment, a_namespace, drifts_of, edit
from tests.agent.scripted_hub import a_job, an_object, eventually
from tests.agent.things import THING, THINGS

pytestmark = pytest.mark.anyio


async def test_an_object_is_applied_as_declared(member):
    """A desired ConfigMap is there with its data, and Available at once."""
    member.hub.put(an_object(a_config_map(), "o-1"))
    member.start()
    entry = await member.hub.seen("o-1", "Applied")
    live = await member.kube.get("v1", "ConfigMap", "team", "settings")
    assert live["data"] == {"colour": "red"}
    assert entry.available is True
    assert entry.drift == []


async def test_what_the_server_adds_or_normalises_is_no_drift(member):
    """Defaults and quantities in canonical form are as declared; a Deployment becomes available."""
    member.hub.put(an_object(a_deployment(replicas=2, cpu="0.5"), "o-1"))
    member.start()
    entry = await member.hub.until(
        lambda hub: (
            hub.observed.get("o-1") and hub.observed["o-1"].available and hub.observed["o-1"]
        )
    )
    assert entry.phase == "Applied"
    assert drifts_of(member.hub, "o-1") == []


async def test_drift_is_overwritten_under_always_and_told_with_both_values(member):
    """An edited field goes back to what is declared; hub and member value reach the hub once."""
    member.hub.put(an_object(a_config_map(), "o-1"))
    member.start()
    await member.hub.seen("o-1", "Applied")
    await edit(member, "ConfigMap", "settings", {"data": {"colour": "blue"}})
    (drift,) = await member.hub.until(lambda hub: drifts_of(hub, "o-1")[:1])
    assert (drift.path, drift.hub, drift.member) == ("/data/colour", '"red"', '"blue"')
    await member.hub.until(lambda hub: hub.observed["o-1"].drift == [])
    live = await member.kube.get("v1", "ConfigMap", "team", "settings")
    assert live["data"] == {"colour": "red"}


async def test_a_scaled_deployment_goes_back_under_always(member):
    """Replicas changed through the scale subresource or an edit are overwritten."""
    member.hub.put(an_object(a_deployment(replicas=1), "o-1"))
    member.start()
    await member.hub.seen("o-1", "Applied")
    await edit(member, "Deployment", "web", {"spec": {"replicas": 3}}, "apps/v1")
    (drift,) = await member.hub.until(lambda hub: drifts_of(hub, "o-1")[:1])
    assert (drift.path, drift.hub, drift.member) == ("/spec/replicas", "1", "3")
    await member.hub.until(lambda hub: hub.observed["o-1"].drift == [])
    live = await member.kube.get("apps/v1", "Deployment", "team", "web")
    assert live["spec"]["replicas"] == 1


async def test_drift_is_left_and_told_under_if_not_drifted(member):
    """Under IfNotDrifted an edit stays, is told for as long as it stays, and blocks a new generation."""
    work = an_object(a_config_map(), "o-1", when_to_apply="IfNotDrifted")
    member.hub.put(work)
    member.start()
    await member.hub.seen("o-1", "Applied")
    await edit(member, "ConfigMap", "settings", {"data": {"colour": "blue"}})
    entry = await member.hub.until(lambda hub: hub.observed["o-1"].drift and hub.observed["o-1"])
    assert [d.path for d in entry.drift] == ["/data/colour"]
    newer = an_object(
        a_config_map(colour="red", size="9"), "o-1", generation=2, when_to_apply="IfNotDrifted"
    )
    member.hub.put(newer)
    await member.hub.seen("o-1", "Failed", "FoundDrifts")
    live = await member.kube.get("v1", "ConfigMap", "team", "settings")
    assert live["data"] == {"colour": "blue"}
    await edit(member, "ConfigMap", "settings", {"data": {"colour": "red"}})
    await member.hub.until(lambda hub: hub.observed["o-1"].generation == 2)


async def test_what_was_accepted_into_the_manifest_is_drift_no_more(member):
    """A newer manifest that says what the member has writes over nothing: it is applied."""
    rule = {"when_to_apply": "IfNotDrifted"}
    member.hub.put(an_object(a_config_map(colour="red", size="9"), "o-1", **rule))
    member.start()
    await member.hub.seen("o-1", "Applied")
    await edit(member, "ConfigMap", "settings", {"data": {"colour": "blue"}})
    await member.hub.until(lambda hub: hub.observed["o-1"].drift)
    member.hub.put(an_object(a_config_map(colour="blue", size="9"), "o-1", generation=2, **rule))
    entry = await member.hub.until(
        lambda hub: hub.observed["o-1"].generation == 2 and hub.observed["o-1"]
    )
    assert (entry.phase, entry.drift) == ("Applied", [])


async def test_a_new_generation_without_drift_is_applied_under_if_not_drifted(member):
    """A path that is new in the manifest is not drift, and one that left it is removed."""
    member.hub.put(
        an_object(a_config_map(colour="red", old="1"), "o-1", when_to_apply="IfNotDrifted")
    )
    member.start()
    await member.hub.seen("o-1", "Applied")
    member.hub.put(
        an_object(
            a_config_map(colour="green", new="2"),
            "o-1",
            generation=2,
            when_to_apply="IfNotDrifted",
        )
    )
    await member.hub.until(
        lambda hub: hub.observed["o-1"].phase == "Applied" and hub.observed["o-1"].generation == 2
    )
    live = await member.kube.get("v1", "ConfigMap", "team", "settings")
    assert live["data"] == {"colour": "green", "new": "2"}


async def test_fields_that_the_user_lets_go_are_neither_told_nor_overwritten(member):
    """`ignore-drift` names a path that others may own; the rest of the object is kept as declared."""
    member.hub.put(an_object(a_deployment(replicas=1), "o-1", ignore_drift=["/spec/replicas"]))
    member.start()
    await member.hub.seen("o-1", "Applied")
    await edit(member, "Deployment", "web", {"spec": {"replicas": 3}}, "apps/v1", "autoscaler")
    await edit(member, "Deployment", "web", {"metadata": {"labels": {"app": "x"}}}, "apps/v1")
    other = a_deployment(replicas=1)
    other["spec"]["template"]["spec"]["containers"][0]["image"] = "nginx:1.28"
    member.hub.put(an_object(other, "o-1", generation=2, ignore_drift=["/spec/replicas"]))
    await member.hub.until(lambda hub: hub.observed["o-1"].generation == 2)
    live = await member.kube.get("apps/v1", "Deployment", "team", "web")
    assert live["spec"]["replicas"] == 3
    assert live["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:1.28"
    assert drifts_of(member.hub, "o-1") == []


async def test_the_content_of_a_secret_never_leaves_the_member(member):
    """A drifted Secret is told with its path; both values are redacted."""
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "keys", "namespace": "team"},
        "stringData": {"password": "hunter2"},
    }
    member.hub.put(an_object(secret, "o-1"))
    member.start()
    await member.hub.seen("o-1", "Applied")
    await edit(member, "Secret", "keys", {"data": {"password": "c3dvcmRmaXNo"}})
    (drift,) = await member.hub.until(lambda hub: drifts_of(hub, "o-1")[:1])
    redacted = '"<redacted>"'
    assert (drift.path, drift.hub, drift.member) == ("/data/password", redacted, redacted)


async def test_a_key_that_leaves_string_data_leaves_the_member(member):
    """The agent applies `stringData` as `data`, of which the server records the owner."""
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "keys", "namespace": "team"},
        "stringData": {"user": "ada", "password": "hunter2"},
    }
    member.hub.put(an_object(secret, "o-1"))
    member.start()
    await member.hub.seen("o-1", "Applied")
    fewer = {**secret, "stringData": {"user": "ada"}}
    member.hub.put(an_object(fewer, "o-1", generation=2))
    await member.hub.until(lambda hub: hub.observed["o-1"].generation == 2)
    live = await member.kube.get("v1", "Secret", "team", "keys")
    assert live["data"] == {"user": "YWRh"}


async def test_a_deleted_object_is_made_again(member):
    """Objects, unlike Jobs, are re-created when someone deletes them, also while the hub is away."""
    member.hub.put(an_object(a_config_map(), "o-1"))
    member.start()
    first = await member.hub.seen("o-1", "Applied")
    member.hub.down = True
    await member.kube.delete("v1", "ConfigMap", "team", "settings")
    seen = member.agent.reconciler.tracked_works["o-1"].seen
    await eventually(
        lambda: seen.live is not None and seen.live["metadata"]["uid"] != first.object_uid
    )
    member.hub.down = False


async def test_a_withdrawn_object_is_deleted(member):
    """Withdraw deletes the object and reports it Gone."""
    member.hub.put(an_object(a_config_map(), "o-1"))
    member.start()
    await member.hub.seen("o-1", "Applied")
    member.hub.put(an_object(a_config_map(), "o-1", action="Withdraw"))
    await member.hub.seen("o-1", "Gone")
    with pytest.raises(errors.NotFound):
        await member.kube.get("v1", "ConfigMap", "team", "settings")


async def test_an_equal_object_of_others_is_taken_over_by_default(member):
    """IfNoDiff: what is there already as desired becomes ours."""
    await member.kube.create(a_config_map(colour="red", more="x"), field_manager="someone")
    member.hub.put(an_object(a_config_map(), "o-1"))
    member.start()
    await member.hub.seen("o-1", "Applied")
    live = await member.kube.get("v1", "ConfigMap", "team", "settings")
    assert live["data"] == {"colour": "red", "more": "x"}


@pytest.mark.parametrize("rule", ["IfNoDiff", "Never"])
async def test_a_different_object_of_others_is_left_alone(member, rule):
    """An object of the same name that differs is a NameConflict: it is not touched."""
    made = await member.kube.create(a_config_map(colour="blue"), field_manager="someone")
    member.hub.put(an_object(a_config_map(), "o-1", when_to_take_over=rule))
    member.start()
    await member.hub.seen("o-1", "Failed", "NameConflict")
    live = await member.kube.get("v1", "ConfigMap", "team", "settings")
    assert live["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


def a_network_policy(*, sources):
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "gate", "namespace": "team"},
        "spec": {"podSelector": {}, "ingress": [{"from": sources} if sources else {}]},
    }


def a_web(selector):
    made = a_deployment()
    made["spec"]["template"]["spec"]["nodeSelector"] = selector
    return made


@pytest.mark.parametrize(
    ("theirs", "wanted"),
    [
        (a_network_policy(sources=[{"podSelector": {}}]), a_network_policy(sources=None)),
        (a_web({"disk": "ssd"}), a_web({"disk": None})),
    ],
    ids=["an item of a list without one of its fields", "a null"],
)
async def test_a_manifest_that_says_less_takes_nothing_over(member, theirs, wanted):
    """The apply is not forced: what the comparison lets pass, the API server refuses as owned by others."""
    made = await member.kube.create(theirs, field_manager="people")
    member.hub.put(an_object(wanted, "o-1"))
    member.start()
    await member.hub.seen("o-1", "Failed", "NameConflict")
    live = await member.kube.get(
        theirs["apiVersion"], theirs["kind"], "team", theirs["metadata"]["name"]
    )
    assert live["spec"] == made["spec"]


async def test_any_object_is_taken_over_under_always(member):
    """whenToTakeOver Always overwrites what is there."""
    await member.kube.create(a_config_map(colour="blue"), field_manager="someone")
    member.hub.put(an_object(a_config_map(), "o-1", when_to_take_over="Always"))
    member.start()
    await member.hub.seen("o-1", "Applied")
    live = await member.kube.get("v1", "ConfigMap", "team", "settings")
    assert live["data"] == {"colour": "red"}


async def test_what_others_need_is_applied_first(member):
    """A namespace comes before what lives in it, whatever the order of the works."""
    member.hub.put(
        an_object(a_config_map(namespace="later"), "o-2"), an_object(a_namespace("later"), "o-1")
    )
    member.start()
    await member.hub.seen("o-2", "Applied")
    order = [entry.uid for entry in member.hub.told if entry.phase == "Applied"]
    assert order.index("o-1") <= order.index("o-2")


@pytest.mark.parametrize("rule", ["Always", "IfNoDiff", "Never"])
async def test_a_namespace_made_for_a_job_may_be_placed(member, rule):
    """The Job came first and its namespace was made by us: the placed one, with its labels, takes over."""
    member.hub.put(a_job("u-1", namespace="fresh"))
    member.start()
    await member.hub.finished("u-1")
    labelled = a_namespace("fresh")
    labelled["metadata"]["labels"] = {"team": "red"}
    member.hub.put(an_object(labelled, "o-1", when_to_take_over=rule))
    await member.hub.seen("o-1", "Applied")
    live = await member.kube.get("v1", "Namespace", "", "fresh")
    assert live["metadata"]["labels"]["team"] == "red"


async def test_an_object_without_its_namespace_fails_until_it_is_there(member):
    """For objects no namespace is invented: NamespaceMissing, and tried again."""
    member.hub.put(an_object(a_config_map(namespace="nowhere"), "o-1"))
    member.start()
    await member.hub.seen("o-1", "Failed", "NamespaceMissing")
    await member.namespace("nowhere")
    await member.hub.seen("o-1", "Applied")


async def test_a_kind_that_is_not_served_fails_until_its_definition_is_applied(member):
    """KindNotServed, and Applied soon after the CustomResourceDefinition came."""
    member.hub.put(an_object(THING, "o-1"))
    member.start()
    await member.hub.seen("o-1", "Failed", "KindNotServed")
    member.hub.put(an_object(THINGS, "o-2"))
    await member.hub.seen("o-1", "Applied")
    entry = await member.hub.seen("o-2", "Applied")
    assert entry.available is True


async def test_labels_that_were_taken_off_come_back(member):
    """An object whose labels were removed is still known by its uid, and gets them back."""
    member.hub.put(an_object(a_config_map(), "o-1"), a_job(run_seconds="600"))
    member.start()
    before = await member.hub.seen("o-1", "Applied")
    job = await member.hub.seen("u-1", "Applied")
    await edit(member, "ConfigMap", "settings", {"metadata": {"labels": None}})
    await edit(member, "Job", "job", {"metadata": {"labels": None}}, "batch/v1")
    after = await labelled(member, "v1", "ConfigMap", "settings")
    again = await labelled(member, "batch/v1", "Job", "job")
    assert after["metadata"]["uid"] == before.object_uid
    assert again["metadata"]["uid"] == job.object_uid


async def test_a_suspended_job_is_no_drift(member):
    """Whoever suspends a Job, and what its controller adds to it, is not told as drift."""
    member.hub.put(a_job(run_seconds="600"))
    member.start()
    await member.hub.seen("u-1", "Applied")
    await edit(member, "Job", "job", {"spec": {"suspend": True}}, "batch/v1")
    entry = await member.hub.job_says("u-1", "suspended")
    assert entry.job.held_by == "kubectl-edit"
    assert drifts_of(member.hub, "u-1") == []
    assert (await member.job())["spec"]["suspend"] is True


async def test_a_changed_parallelism_of_a_job_is_drift(member):
    """A mutable field of a Job goes back under Always, and is told."""
    member.hub.put(a_job(parallelism=2, completions=4, run_seconds="600"))
    member.start()
    await member.hub.seen("u-1", "Applied")
    await edit(member, "Job", "job", {"spec": {"parallelism": 1}}, "batch/v1")
    (drift,) = await member.hub.until(lambda hub: drifts_of(hub, "u-1")[:1])
    assert drift == Drift(
        path="/spec/parallelism", hub="2", member="1", first_seen=drift.first_seen
    )
    await member.hub.until(lambda hub: hub.observed["u-1"].drift == [])
    assert (await member.job())["spec"]["parallelism"] == 2


async def labelled(member, api_version, kind, name):
    async with asyncio.timeout(10):
        while True:
            live = await member.kube.get(api_version, kind, "team", name)
            if live["metadata"].get("labels"):
                return live


async def test_what_is_no_longer_desired_holds_no_later_wave_up(member):
    """Deployments wait for a ConfigMap that is on its way, and no longer than it is desired."""
    member.cluster.faults.add("503", resource="configmaps", count=0)
    member.hub.put(an_object(a_config_map(), "o-1"), an_object(a_deployment(), "o-2"))
    member.start()
    await member.hub.seen("o-2", "Waiting")
    member.hub.drop("o-1")
    await member.hub.seen("o-2", "Applied")
