"""Objects as their controllers leave them: what the tests of availability look at."""

import json


def condition(kind, status="True", **more):
    return {"type": kind, "status": status, **more}


def an(api_version, kind, spec=None, generation=1, **status):
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "x", "generation": generation},
        "spec": spec or {},
        "status": status,
    }


OBSERVED = {"observedGeneration": 1}
WHOLE = {**OBSERVED, "availableReplicas": 2, "updatedReplicas": 2}
NONE = {**OBSERVED, "availableReplicas": 0, "updatedReplicas": 0}
ONE = {**OBSERVED, "availableReplicas": 1, "updatedReplicas": 1}
FULL_SET = {
    **OBSERVED,
    "availableReplicas": 2,
    "currentReplicas": 2,
    "updatedReplicas": 2,
    "currentRevision": "a",
    "updateRevision": "a",
}


def of(replicas, generation=1, **status):
    return an("apps/v1", "Deployment", {"replicas": replicas}, generation, **status)


def a_set(**status):
    return an("apps/v1", "StatefulSet", {"replicas": 2}, **{**FULL_SET, **status})


def a_daemon(**status):
    counts = {"desiredNumberScheduled": 2, "numberAvailable": 2}
    scheduled = {"currentNumberScheduled": 2, "updatedNumberScheduled": 2}
    return an("apps/v1", "DaemonSet", **{**OBSERVED, **counts, **scheduled, **status})


def a_replica_set(available, replicas=2, generation=1):
    status = {**OBSERVED, "availableReplicas": available}
    return an("apps/v1", "ReplicaSet", {"replicas": replicas}, generation, **status)


def a_job(*conditions, suspend=False, **status):
    return an("batch/v1", "Job", {"suspend": suspend}, **status, conditions=list(conditions))


def a_pod(phase, *conditions, **more):
    return an("v1", "Pod", phase=phase, conditions=list(conditions), **more)


def waiting(reason, message=""):
    return {"state": {"waiting": {"reason": reason, "message": message}}}


def a_cron_job(begun=None, done=None, active=(), suspend=False):
    status = {"lastScheduleTime": begun, "lastSuccessfulTime": done, "active": list(active)}
    return an("batch/v1", "CronJob", {"suspend": suspend}, **status)


def a_balancer(*ingress):
    return an("v1", "Service", {"type": "LoadBalancer"}, loadBalancer={"ingress": list(ingress)})


def an_ingress(*ingress):
    return an("networking.k8s.io/v1", "Ingress", loadBalancer={"ingress": list(ingress)})


def a_crd(*held, message=""):
    return an(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        conditions=[
            condition(kind, "True" if kind in held else "False", message=message)
            for kind in ("Established", "NamesAccepted")
        ],
    )


def a_budget(status, reason, generation=1, seen=1, **more):
    allowed = condition("DisruptionAllowed", status, reason=reason, observedGeneration=1, **more)
    status = {"observedGeneration": seen, "conditions": [allowed]}
    return an("policy/v1", "PodDisruptionBudget", generation=generation, **status)


def an_autoscaler(*conditions, version="v2", generation=1, **status):
    api_version = f"autoscaling/{version}"
    kind = "HorizontalPodAutoscaler"
    return an(api_version, kind, generation=generation, **status, conditions=list(conditions))


def an_older_autoscaler(active, text=""):
    """Version v1, whose conditions are a text."""
    able = {"type": "AbleToScale", "status": "True"}
    scaling = {"type": "ScalingActive", "status": active, "message": "no metrics"}
    name = "autoscaling.alpha.kubernetes.io/conditions"
    older = an_autoscaler(version="v1")
    older["metadata"]["annotations"] = {name: text or json.dumps([able, scaling])}
    return older
