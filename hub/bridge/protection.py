"""Tests by dry run whether policies keep Jobs from running on the hub cluster and protect mirrors.

Two Jobs are created by dry run: one that has a queue and no mark, and one that has the mark. What
the API server makes of them says what is in force there (docs/adr/0012-jobs-on-older-hub-clusters.md):

    created with the mark      a policy that marks: nobody has to write it            Marked
    refused by our policy      who writes neither the mark nor suspend is told so     Refused
    created as it was          nothing: the cluster's own controller would run it     None
    anything else              not known, for instance without the right to ask       Unknown

A third one has a label that the policy which guards mirrors refuses, whoever writes it: Guarded, or None.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from shared import labels
from shared.documents import Json
from shared.kube import errors
from shared.kube.client import KubeClient

POLICY: Final = "roadstead-jobs"  # of deploy/hub-cluster/job-guard.yaml
MIRROR_POLICY: Final = "roadstead-mirrors"  # of deploy/hub-cluster/mirror-guard.yaml
MARKED: Final = "Marked"
REFUSED: Final = "Refused"
NONE: Final = "None"
GUARDED: Final = "Guarded"
UNKNOWN: Final = "Unknown"
# Where the hub's account may ask (deploy/hub-cluster/access.yaml): in the one or, where the hub is
# installed elsewhere, in the other, which is in every cluster.
_NAMESPACES: Final = ("roadstead", "default")
_NAME: Final = "roadstead-asks"


@dataclass(frozen=True, slots=True)
class Protection:
    """What is in force. `keeps_mark`: the API server knows spec.managedBy (from 1.32 on).

    `mirrors`: Guarded, where nobody but the hub writes them; None; Unknown.
    """

    jobs: str = UNKNOWN
    keeps_mark: bool = True
    message: str = "it was not asked yet"
    mirrors: str = UNKNOWN

    @property
    def in_force(self) -> bool:
        """Does a Job without the mark stay suspended, so that it can be the hub's?"""
        return self.jobs in (MARKED, REFUSED)

    @property
    def keeps_from_starting(self) -> bool:
        """Can nobody start a suspended Job of ours, marked where the mark is known?"""
        return self.in_force or (self.jobs == NONE and self.keeps_mark)


async def ask(client: KubeClient) -> Protection:
    """Ask the API server. Raises Unavailable without an answer."""
    return replace(await _of_jobs(client), mirrors=await _of_mirrors(client))


async def _of_mirrors(client: KubeClient) -> str:
    spec = {"managedBy": labels.JOB_CONTROLLER, "suspend": True}
    try:
        await _dry_run(client, spec, {labels.ASKS: "mirrors"})
    except errors.Unavailable:
        raise
    except errors.KubeError as refusal:
        return GUARDED if MIRROR_POLICY in refusal.message else UNKNOWN
    return NONE


async def _of_jobs(client: KubeClient) -> Protection:
    try:
        made = await _dry_run(client, {})
    except errors.Unavailable:
        raise
    except errors.Invalid as refusal:
        if POLICY not in refusal.message:
            return _unknown(refusal)
        return await _without_marking(client, REFUSED)
    except errors.KubeError as refusal:
        return _unknown(refusal)
    if made.get("managedBy") == labels.JOB_CONTROLLER:
        return Protection(MARKED, True, "Jobs with a queue are marked as the hub's when created")
    return await _without_marking(client, NONE)


async def _without_marking(client: KubeClient, jobs: str) -> Protection:
    try:
        made = await _dry_run(client, {"managedBy": labels.JOB_CONTROLLER, "suspend": True})
    except errors.Unavailable:
        raise
    except errors.KubeError as refusal:
        return _unknown(refusal)
    keeps_mark = bool(made.get("managedBy"))
    wanted = f"spec.managedBy: {labels.JOB_CONTROLLER}" if keeps_mark else "spec.suspend: true"
    if jobs == REFUSED:
        text = f"Jobs with a queue are refused without {wanted}"
    else:
        text = (
            "nothing keeps Jobs with a queue from running on the hub cluster: "
            "kubectl apply -f deploy/hub-cluster/job-guard.yaml"
        )
    return Protection(jobs, keeps_mark, text)


def _unknown(failure: errors.KubeError) -> Protection:
    text = f"whether Jobs could run on the hub cluster is not known: {failure.message}"
    return Protection(UNKNOWN, True, text[:300])


async def _dry_run(
    client: KubeClient, spec: Json, marks: Mapping[str, str] = MappingProxyType({})
) -> Json:
    """The spec of a Job that the API server would create. Raises KubeError."""
    for namespace in _NAMESPACES[:-1]:
        try:
            return await _dry_run_in(client, _a_job(namespace, spec, marks))
        except (errors.NotFound, errors.Forbidden):
            continue
    return await _dry_run_in(client, _a_job(_NAMESPACES[-1], spec, marks))


async def _dry_run_in(client: KubeClient, job: Json) -> Json:
    made = await client.create(job, field_manager=labels.BRIDGE_FIELD_MANAGER, dry_run=True)
    found: Json = made.get("spec") or {}
    return found


def _a_job(namespace: str, spec: Json, marks: Mapping[str, str]) -> Json:
    """One that other policies have no reason to refuse: small, and restricted."""
    small = {"cpu": "1m", "memory": "1Mi"}
    container = {
        "name": "main",
        "image": "registry.k8s.io/pause:3.10",
        "resources": {"requests": small, "limits": small},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": _NAME,
            "namespace": namespace,
            "labels": {labels.QUEUE_NAME: _NAME, **marks},
        },
        "spec": {
            **spec,
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "securityContext": {
                        "runAsNonRoot": True,
                        "runAsUser": 65534,
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                    "containers": [container],
                }
            },
        },
    }
