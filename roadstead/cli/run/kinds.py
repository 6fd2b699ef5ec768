"""Turns the Job of `roadstead run` into an object of another kind, for `--kind`.

`jobset`: N pods of one replicated job, each with its index. `pytorch`: a master and N workers. `ray`: a
RayCluster of a head and N workers, in whose head the command runs.
"""

import copy
import shlex
from collections.abc import Iterable
from typing import Any, Final

import click

from roadstead.client import Client
from roadstead.models.queues import ClusterQueue
from shared.labels import MULTIKUEUE_CONTROLLER

Json = dict[str, Any]
KINDS: Final = ("job", "jobset", "pytorch", "ray")
_DEFAULT: Final = "default"
_QUEUE: Final = "kueue.x-k8s.io/queue-name"
_NAMED: Final = 5  # queues in an error
_PYTORCH: Final = "pytorch"  # the container that the training operator looks for


def of_kind(job: Json, kind: str, workers: int) -> Json:
    """The same command as an object of this kind. `job`: as `manifest` makes it."""
    spec = job["spec"]
    template, seconds = spec["template"], spec.get("activeDeadlineSeconds")
    limit = {"activeDeadlineSeconds": seconds} if seconds else {}
    makes = {"jobset": _jobset, "pytorch": _pytorch, "ray": _ray}
    api_version, name, made = makes[kind](template, workers, spec["backoffLimit"], limit)
    # On a hub cluster its operator leaves the object alone by this; a member gets it without.
    (made["runPolicy"] if kind == "pytorch" else made)["managedBy"] = MULTIKUEUE_CONTROLLER
    found = {**job, "apiVersion": api_version, "kind": name, "spec": made}
    found["metadata"]["labels"] = {_QUEUE: _DEFAULT, **(job["metadata"].get("labels") or {})}
    return found


def _jobset(template: Json, workers: int, retries: int, limit: Json) -> tuple[str, str, Json]:
    inner = {
        "completionMode": "Indexed",
        "completions": workers,
        "parallelism": workers,
        "backoffLimit": retries,
        **limit,
        "template": template,
    }
    jobs = [{"name": "workers", "template": {"spec": inner}}]
    return "jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": jobs}


def _pytorch(template: Json, workers: int, retries: int, limit: Json) -> tuple[str, str, Json]:
    made = copy.deepcopy(template)
    made["spec"]["containers"][0]["name"] = _PYTORCH
    del made["spec"]["restartPolicy"]  # the role has it
    policy = {"restartPolicy": "OnFailure" if retries else "Never", "template": made}
    roles = {"Master": {"replicas": 1, **policy}}
    if workers:
        roles["Worker"] = {"replicas": workers, **copy.deepcopy(policy)}
    rules = {"cleanPodPolicy": "Running", "backoffLimit": retries, **limit}
    return "kubeflow.org/v1", "PyTorchJob", {"runPolicy": rules, "pytorchReplicaSpecs": roles}


def _ray(template: Json, workers: int, retries: int, limit: Json) -> tuple[str, str, Json]:
    made = copy.deepcopy(template)
    container = made["spec"]["containers"][0]
    command = container.pop("command")
    del made["spec"]["restartPolicy"]  # the operator's own
    resources = container["resources"]
    resources["limits"] = {**resources["requests"], **resources.get("limits", {})}
    cluster: Json = {"headGroupSpec": {"rayStartParams": {}, "template": made}}
    if workers:
        counts = dict.fromkeys(("replicas", "minReplicas", "maxReplicas"), workers)
        group = {"groupName": "workers", **counts, "rayStartParams": {}}
        cluster["workerGroupSpecs"] = [{**group, "template": copy.deepcopy(made)}]
    spec = {
        "entrypoint": shlex.join(command),
        "shutdownAfterJobFinishes": True,
        "backoffLimit": retries,
        **limit,
        "rayClusterSpec": cluster,
    }
    return "ray.io/v1", "RayJob", spec


def choose_queue(hub: Client, made: Json, given: str | None) -> None:
    """Name the LocalQueue of an object of another kind than Job, if none was given.

    Raises click.UsageError as `_queue_in` does.
    """
    if made["kind"] != "Job" and not given:
        metadata = made["metadata"]
        metadata["labels"][_QUEUE] = _queue_in(hub.queues(), metadata["namespace"])


def _queue_in(queues: Iterable[ClusterQueue], namespace: str) -> str:
    """The LocalQueue of a namespace for what names none: `default`, else the only one.

    `default` also of a namespace without one: a hub without queues of an administrator provides it. Raises
    click.UsageError where there are several.
    """
    there = sorted(
        each.name for one in queues for each in one.local_queues if each.namespace == namespace
    )
    if not there or _DEFAULT in there:
        return _DEFAULT
    if len(there) > 1:
        more = f" and {len(there) - _NAMED} more" if len(there) > _NAMED else ""
        raise click.UsageError(
            f"Which queue of namespace {namespace}? -q NAME: {', '.join(there[:_NAMED])}{more}."
        )
    return there[0]


def check(kind: str, *, sized: bool, workers: int | None, image: str, default_image: str) -> int:
    """The number of workers, 1 unless told. `sized`: --array or --parallelism is given.

    Raises click.UsageError for options that do not go together.
    """
    if kind == "job":
        if workers is not None:
            raise click.UsageError(
                "--workers needs --kind jobset, pytorch or ray; pods of a Job: --parallelism."
            )
        return 1
    if sized:
        raise click.UsageError(
            f"--array and --parallelism are of Jobs; --kind {kind} has --workers."
        )
    if kind == "ray" and image == default_image:
        raise click.UsageError(
            "--kind ray needs an image that has Ray: --image rayproject/ray:2.53.0"
        )
    if kind == "jobset" and workers == 0:
        raise click.UsageError("--kind jobset needs at least one pod: --workers 1.")
    return 1 if workers is None else workers
