"""Which controllers make the pods of an object that is no Job, as far as the kinds of both tell. Pure.

A pod names its controller alone, and not what made that one. So a pod counts for an object if that is its
controller, by uid, or if the object's operator puts objects of the controller's kind between
(docs/explain/exactly-once.md, "Objects with children"). No request is needed.
"""

import sys
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple

from agent.objects.holds import APP_WRAPPER, JOB, LEADER_WORKER_SET, WRAPPED

Object = dict[str, Any]
KindKey = tuple[str, str]


class Maker(NamedTuple):
    """The controller of a pod: its kind as group/Kind, whatever the version, and its uid; "" for none."""

    kind: str = ""
    uid: str = ""


NOBODY: Final = Maker()
_RAY_CLUSTER: Final = ("ray.io/v1", "RayCluster")


def _named(key: KindKey) -> str:
    api_version, kind = key
    return sys.intern(f"{api_version.rpartition('/')[0]}/{kind}")


def _all(*keys: KindKey) -> frozenset[str]:
    return frozenset(map(_named, keys))


# What controls pods beside the object itself, by the object's kind. A RayCluster cleans up by a Job; the
# driver of a SparkApplication, a pod, makes the executors.
_BETWEEN: Final[Mapping[str, frozenset[str]]] = {
    _named(key): between
    for key, between in {
        ("jobset.x-k8s.io/v1alpha2", "JobSet"): _all(JOB),
        _RAY_CLUSTER: _all(JOB),
        ("ray.io/v1", "RayJob"): _all(_RAY_CLUSTER, JOB),
        ("ray.io/v1", "RayService"): _all(_RAY_CLUSTER, JOB),
        LEADER_WORKER_SET: _all(("apps/v1", "StatefulSet")),
        ("kubeflow.org/v2beta1", "MPIJob"): _all(JOB),
        ("kubeflow.org/v1", "JAXJob"): _all(),
        ("kubeflow.org/v1", "PaddleJob"): _all(),
        ("kubeflow.org/v1", "PyTorchJob"): _all(),
        ("kubeflow.org/v1", "TFJob"): _all(),
        ("kubeflow.org/v1", "XGBoostJob"): _all(),
        ("sparkoperator.k8s.io/v1beta2", "SparkApplication"): _all(("v1", "Pod")),
        APP_WRAPPER: _all(*WRAPPED),
    }.items()
}


def maker_of(metadata: Object) -> Maker:
    """The controller of a pod."""
    owners: Iterable[Object] = metadata.get("ownerReferences") or ()
    for owner in owners:
        if owner.get("controller"):
            key = str(owner.get("apiVersion") or ""), str(owner.get("kind") or "")
            return Maker(_named(key), str(owner.get("uid") or ""))
    return NOBODY


def may_be_of(kind: KindKey, uids: Collection[str], maker: Maker) -> bool:
    """Tell if a pod of this controller counts for a job: `kind` and `uids` are those of the job's objects.

    Another object of the same kind is never between. Of a kind that an administrator defined, nobody knows
    what its operator makes: there any other controller counts.
    """
    if maker is NOBODY or maker.uid in uids:
        return maker is not NOBODY
    own = _named(kind)
    between = _BETWEEN.get(own)
    return maker.kind != own and (between is None or maker.kind in between)


def may_be_child(parent: Object, namespace: str, maker: Maker) -> bool:
    """Tell the same of a pod in `namespace` and an object: the pods of an object are beside it."""
    inside, kind = parent["metadata"], (parent["apiVersion"], parent["kind"])
    return inside.get("namespace") == namespace and may_be_of(kind, (inside["uid"],), maker)
