"""Whether an object does its work, by its kind's rule, and what is said where it does not."""

import pytest

from agent.objects.rules import AvailabilityRules
from tests.agent.objects.statuses import (
    FULL_SET,
    NONE,
    OBSERVED,
    ONE,
    WHOLE,
    a_balancer,
    a_budget,
    a_crd,
    a_cron_job,
    a_daemon,
    a_job,
    a_pod,
    a_replica_set,
    a_set,
    an,
    an_autoscaler,
    an_ingress,
    an_older_autoscaler,
    condition,
    of,
    waiting,
)

availability = AvailabilityRules().judge
QUOTA = condition("ReplicaFailure", reason="FailedCreate", message="exceeded quota")
LATE = condition("Progressing", "False", reason="ProgressDeadlineExceeded", message="timed out")
ABLE = condition("AbleToScale")
NOON, ONE_PAST = "2026-01-01T12:00:00Z", "2026-01-01T12:01:00Z"
# What, the object, why not: None where it is available.
CASES = [
    ("deployment", of(2, **WHOLE), None),
    ("short", of(3, **WHOLE), "2 of 3 replicas are updated"),
    ("none there", of(2, **{**WHOLE, "availableReplicas": 0}), "0 of 2 replicas are available"),
    ("none asked for, none there", of(0, **NONE), None),
    ("none asked for, one left", of(0, **ONE), "1 of 0 replicas are updated"),
    ("unsaid is one", of(None, **ONE), None),
    ("unsaid is not none", of(None, **NONE), "0 of 1 replica is updated"),
    ("one too many", of(1, **WHOLE), "2 of 1 replica is updated"),
    ("not all updated", of(2, **{**WHOLE, "updatedReplicas": 1}), "1 of 2 replicas are updated"),
    ("one beside them", of(2, **WHOLE, unavailableReplicas=1), "1 replica more than asked for"),
    ("not observed", of(2, 2, **WHOLE), "its controller has not seen generation 2 yet"),
    ("observed later", of(2, 1, **{**WHOLE, "observedGeneration": 2}), None),
    ("no quota", of(1, **NONE, conditions=[QUOTA]), "0 of 1 replica is updated: exceeded quota"),
    ("too late", of(1, **NONE, conditions=[LATE]), "0 of 1 replica is updated: timed out"),
    ("set", a_set(), None),
    ("set of too few", a_set(availableReplicas=1), "1 of 2 replicas are available"),
    ("set being updated", a_set(currentReplicas=1, updatedReplicas=1, updateRevision="b"),
     "1 of 2 replicas are updated"),
    ("set of two revisions", a_set(updateRevision="b"), "2 of 2 replicas are updated"),
    ("set not observed", a_set(observedGeneration=0), "has not seen generation 1"),
    ("daemon", a_daemon(), None),
    ("daemon on too few nodes", a_daemon(numberAvailable=1), "it is available on 1 of 2 nodes"),
    ("daemon being updated", a_daemon(updatedNumberScheduled=1), "it is updated on 1 of 2 nodes"),
    ("daemon wanted nowhere", a_daemon(desiredNumberScheduled=0, numberAvailable=0), None),
    ("replica set", a_replica_set(2), None),
    ("replica set short", a_replica_set(1), "1 of 2 replicas are available"),
    ("replica set stale", a_replica_set(2, generation=2), "has not seen generation 2"),
    ("controller", an("v1", "ReplicationController", {"replicas": 0}, **OBSERVED), None),
    ("service", an("v1", "Service", {"clusterIP": "10.0.0.1"}), None),
    ("headless", an("v1", "Service", {"clusterIP": "None"}), None),
    ("service without address", an("v1", "Service"), "no cluster IP yet"),
    ("balancer by address", a_balancer({"ip": "10.0.0.1"}), None),
    ("balancer by name", a_balancer({"hostname": "lb"}), None),
    ("balancer with neither", a_balancer({"ports": []}), "no load balancer has given it an address"),
    ("second of two", a_balancer({}, {"ip": "10.0.0.1"}), None),
    ("ingress", an_ingress({"ip": "10.0.0.1"}), None),
    ("ingress of nobody", an_ingress(), "no ingress controller has given it an address yet"),
    ("definition", a_crd("Established", "NamesAccepted"), None),
    ("definition of taken names", a_crd("Established", message="taken"), "taken"),
    ("definition not established", a_crd("NamesAccepted"), "its condition Established is not True"),
    ("api", an("apiregistration.k8s.io/v1", "APIService", conditions=[condition("Available")]), None),
    ("api of nobody", an("apiregistration.k8s.io/v1", "APIService", conditions=[
        condition("Available", "False", reason="MissingEndpoints", message="no endpoints")]),
     "no endpoints"),
    ("budget that allows", a_budget("True", "SufficientPods"), None),
    ("budget that guards", a_budget("False", "InsufficientPods"), None),
    ("budget that can not count", a_budget("False", "SyncFailed", message="no scale"), "no scale"),
    ("budget counted before", a_budget("True", "SufficientPods", generation=2, seen=2),
     "its controller has not counted its pods yet"),
    ("budget not observed", a_budget("True", "SufficientPods", generation=2), "generation 2"),
    ("budget not counted", an("policy/v1", "PodDisruptionBudget", **OBSERVED), "not counted"),
    ("autoscaler", an_autoscaler(ABLE, condition("ScalingActive")), None),
    ("autoscaler of none", an_autoscaler(
        ABLE, condition("ScalingActive", "False", reason="ScalingDisabled")), None),
    ("autoscaler without metrics", an_autoscaler(ABLE, condition(
        "ScalingActive", "False", reason="FailedGetResourceMetric", message="no metrics")),
     "no metrics"),
    ("autoscaler without target", an_autoscaler(condition(
        "AbleToScale", "False", reason="FailedGetScale", message="no target")), "no target"),
    ("autoscaler not looked at", an_autoscaler(), "has not told yet whether it is AbleToScale"),
    ("autoscaler changed", an_autoscaler(ABLE, generation=2, **OBSERVED), "generation 2"),
    ("older autoscaler", an_older_autoscaler("True"), None),
    ("older autoscaler without metrics", an_older_autoscaler("False"), "no metrics"),
    ("older autoscaler not looked at", an_autoscaler(version="v1"), "has not told yet"),
    ("claim", an("v1", "PersistentVolumeClaim", phase="Bound"), None),
    ("claim that waits", an("v1", "PersistentVolumeClaim", phase="Pending"), "no volume is bound"),
    ("claim unseen", an("v1", "PersistentVolumeClaim"), "no volume is bound"),
    ("claim of a lost volume", an("v1", "PersistentVolumeClaim", phase="Lost"), "is gone"),
    ("volume", an("v1", "PersistentVolume", phase="Available"), None),
    ("volume released", an("v1", "PersistentVolume", phase="Released"), "it is Released"),
    ("pod", a_pod("Running", condition("Ready")), None),
    ("pod done", a_pod("Succeeded", condition("Ready", "False")), None),
    ("pod failed", a_pod("Failed", reason="Evicted", message="out of disk"), "out of disk"),
    ("pod nowhere", a_pod("Pending", condition(
        "PodScheduled", "False", reason="Unschedulable", message="0/2 nodes")), "0/2 nodes"),
    ("pod without image", a_pod("Pending", containerStatuses=[waiting("ErrImagePull", "no such")]),
     "no such"),
    ("pod crashing", a_pod("Running", containerStatuses=[waiting("CrashLoopBackOff")]),
     "a container of it waits: CrashLoopBackOff"),
    ("pod not ready", a_pod("Running", condition(
        "Ready", "False", reason="ContainersNotReady", message="unready: [a]")), "unready: [a]"),
    ("pod starting", a_pod("Pending", containerStatuses=[waiting("ContainerCreating")]),
     "it is Pending and not ready"),
    ("job waiting", a_job(), "no pod of it is ready"),
    ("job running", a_job(active=1, ready=1), None),
    ("job active and not ready", a_job(active=1), "no pod of it is ready"),
    ("job suspended", a_job(suspend=True), "it is suspended"),
    ("job ready and suspended", a_job(suspend=True, active=1, ready=1), "it is suspended"),
    ("job complete", a_job(condition("Complete")), None),
    ("job failed", a_job(condition("Failed", message="too often")), "too often"),
    ("cron job", a_cron_job(), None),
    ("cron job at work", a_cron_job(NOON, active=[{"name": "x"}]), None),
    ("cron job done", a_cron_job(NOON, ONE_PAST), None),
    ("cron job at once", a_cron_job(NOON, NOON), None),
    ("cron job failed", a_cron_job(ONE_PAST, NOON), f"its run of {ONE_PAST} has not succeeded"),
    ("cron job never done", a_cron_job(NOON), f"its run of {NOON} has not succeeded"),
    ("cron job suspended", a_cron_job(suspend=True), None),
    ("config map", an("v1", "ConfigMap"), None),
    ("namespace", an("v1", "Namespace"), None),
    ("flavor", an("kueue.x-k8s.io/v1beta2", "ResourceFlavor"), None),
    ("role", an("rbac.authorization.k8s.io/v1", "ClusterRole"), None),
]  # fmt: skip


@pytest.mark.parametrize(("obj", "why"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_an_object_is_available_when_all_of_it_is(obj, why):
    """By its kind's own rule and of a state that its controller has seen; else a sentence says what lacks."""
    told = availability(obj)
    assert told.available is (why is None)
    assert (why or "") in told.message
    assert bool(told.message) is bool(told.reason) is (why is not None)


@pytest.mark.parametrize(
    "obj",
    [
        an("ray.io/v1", "RayCluster"),
        an("ray.io/v1", "Job"),
        an("example.org/v1", "Secret"),
        an("v1", "Service", {"type": "ExternalName"}),
        {"metadata": {}},
    ],
)
def test_what_nobody_can_judge_is_neither_available_nor_not(obj):
    """Kinds without a rule, those of another group with a known name too, and what does not tell."""
    assert availability(obj) == (None, "", "")


@pytest.mark.parametrize(
    "obj",
    [
        of("many", **WHOLE),
        of(1, availableReplicas="x", observedGeneration=1, updatedReplicas=1),
        of(1, observedGeneration="x"),
        a_set() | {"status": "well"},
        a_set() | {"spec": ["x"]},
        an("v1", "Pod", containerStatuses=["x"]),
        an("batch/v1", "CronJob", lastScheduleTime=7),
        an("batch/v1", "CronJob", lastScheduleTime=NOON, lastSuccessfulTime="2026-01-01T12:00:00"),
        an_ingress("x"),
        an_older_autoscaler("True", '{"type": 1'),
        an_older_autoscaler("True", "[" * 200_000),
    ],
)
def test_a_status_that_is_none_of_its_kind_is_not_judged(obj):
    """It stops nothing: the object is of unknown availability."""
    assert availability(obj).available is None


@pytest.mark.parametrize(
    ("said", "told"),
    [("OutOfDisk", "OutOfDisk"), ("out of disk", "NotAvailable"), ("a" * 200, "NotAvailable")],
)
def test_a_reason_is_one_that_a_condition_may_have(said, told):
    """Somebody else wrote it: a hub cluster refuses a status with another; messages are cut."""
    verdict = availability(a_pod("Failed", reason=said, message="m" * 2000))
    assert (verdict.reason, len(verdict.message)) == (told, 512)


def test_conditions_that_are_none_are_passed_over():
    """The one that is a condition counts."""
    assert availability(a_pod("Running", "Ready", None, condition("Ready"))).available is True


def test_each_set_is_judged_by_each_of_its_counts():
    """One that is off is enough."""
    for name in ("availableReplicas", "currentReplicas", "updatedReplicas"):
        assert availability(a_set(**{**FULL_SET, name: 3})).available is False
