"""Builds the Job of `roadstead run` from a command and its options."""

import re
from dataclasses import dataclass, field
from typing import Any, Final

from roadstead.cli.run.array import Array

Json = dict[str, Any]
DEFAULT_IMAGE: Final = "python:3.13-slim"
# Labels as Kueue has them; `shared` is more than the command line loads.
QUEUE: Final = "kueue.x-k8s.io/queue-name"
PRIORITY: Final = "kueue.x-k8s.io/priority-class"
_LONGEST_STEM: Final = 40
_SCRIPT: Final = re.compile(r"([^/]+)\.(?:py|sh|bash|r|R|jl|pl|rb|js|lua|ipynb)")


@dataclass(frozen=True)
class Wanted:
    """The command and its options. Amounts are Kubernetes quantities; `limits` are added to those of
    `gpus`.
    """

    command: tuple[str, ...]
    name: str
    namespace: str
    image: str = DEFAULT_IMAGE
    queue: str = ""
    priority: str = ""
    requests: dict[str, str] = field(default_factory=dict)
    limits: dict[str, str] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    pod_annotations: dict[str, str] = field(default_factory=dict)
    parallelism: int = 1
    array: Array | None = None
    retries: int = 0
    seconds: int | None = None


def manifest(wanted: Wanted) -> Json:
    """The Job, with only requested or required fields."""
    labels = {**wanted.labels}
    if wanted.queue:
        labels[QUEUE] = wanted.queue
    if wanted.priority:
        labels[PRIORITY] = wanted.priority
    metadata = {"name": wanted.name, "namespace": wanted.namespace}
    template: Json = {"spec": {"restartPolicy": "Never", "containers": [_container(wanted)]}}
    if wanted.pod_annotations:
        template = {"metadata": {"annotations": wanted.pod_annotations}, **template}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata
        | ({"labels": labels} if labels else {})
        | ({"annotations": wanted.annotations} if wanted.annotations else {}),
        "spec": {
            **_size(wanted),
            **({"activeDeadlineSeconds": wanted.seconds} if wanted.seconds else {}),
            "template": template,
        },
    }


def name_for(command: tuple[str, ...], suffix: str) -> str:
    """A default name: the script's, else the program's, with a random suffix."""
    scripts = [found[1] for word in command if (found := _SCRIPT.fullmatch(_last(word)))]
    stem = re.sub(r"[^a-z0-9]+", "-", (scripts or [_last(command[0])])[0].lower()).strip("-")
    return f"{stem[:_LONGEST_STEM].strip('-') or 'run'}-{suffix}"


def _last(word: str) -> str:
    return word.rstrip("/").rpartition("/")[2]


def _size(wanted: Wanted) -> Json:
    if wanted.array is not None:
        return wanted.array.spec(wanted.retries)
    if wanted.parallelism == 1:
        return {"backoffLimit": wanted.retries}
    return {
        "completionMode": "Indexed",
        "completions": wanted.parallelism,
        "parallelism": wanted.parallelism,
        "backoffLimit": wanted.retries,
    }


def _container(wanted: Wanted) -> Json:
    command = list(wanted.command)
    env: list[Json] = [{"name": name, "value": value} for name, value in wanted.env.items()]
    if wanted.array is not None:
        command = wanted.array.command(command)
        env += wanted.array.env()
    resources = {"requests": wanted.requests}
    if wanted.limits:
        resources["limits"] = wanted.limits
    return {
        "name": "main",
        "image": wanted.image,
        "command": command,
        **({"env": env} if env else {}),
        "resources": resources,
    }
