"""The 54 Jobs of hostile-jobs.yaml as manifests, and the rules under which each is to be denied."""

import copy
import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from shared.podsecurity import Level, Rules
from shared.podsecurity.rules import OPEN_FIELDS
from tests.bad_inputs.cases import valid_job

TENANT = "tenant"
HARDENED = "tenant-hardened"  # the namespace that is restricted
_POD = "spec.template.spec"
_TEMPLATES = frozenset(
    {
        "finalizer", "owner", "label-of-roadstead", "other-namespace", "endless-grace", "node-by-fields",
        "node-preferred-by-fields", "git-repo", "inline-csi",
    }
)  # fmt: skip


@dataclass(frozen=True)
class HostileJob:
    """One of them: what is sent, and what must be said. `since`: see the file."""

    name: str
    code: str
    field: str
    manifest: dict[str, Any]
    level: Level
    fields: str
    since: tuple[int, ...]

    @property
    def rules(self) -> Rules:
        """Those of a member, or of a hub, that deny it."""
        levels = f"{HARDENED}=restricted"
        return Rules(levels=levels, fields=self.fields or OPEN_FIELDS)

    @property
    def namespace(self) -> str:
        return str(self.manifest["metadata"]["namespace"])


def hostile_jobs() -> list[HostileJob]:
    """All of them, in the file's order; each call makes new manifests."""
    return [_job(copy.deepcopy(entry)) for entry in _entries()]


def hostile_templates() -> list[HostileJob]:
    """Those that a hub cluster's policy about pod templates refuses too."""
    return [each for each in hostile_jobs() if each.name in _TEMPLATES]


def harmless_job(name: str = "harmless", namespace: str = TENANT) -> dict[str, Any]:
    """The Job that they are made from: without what is hostile, every gate lets it through."""
    job = valid_job()
    job["metadata"] = {"name": name, "namespace": namespace}
    return job


@functools.cache
def _entries() -> list[dict[str, Any]]:
    return list(yaml.safe_load(Path(__file__).with_name("hostile-jobs.yaml").read_text())["jobs"])


def _job(entry: dict[str, Any]) -> HostileJob:
    level = entry.get("level", "baseline")
    job = harmless_job(entry["name"], HARDENED if level == "restricted" else TENANT)
    _merge(job, entry.get("job", {}))
    pod = entry.get("pod", {})
    spec = job["spec"]["template"]["spec"]
    spec["containers"][0] |= pod.pop("container", {})
    spec |= pod
    field = entry["field"]
    return HostileJob(
        name=entry["name"],
        code=entry["code"],
        field=f"{_POD}{field}" if field.startswith(".") else field,
        manifest=job,
        level=level,
        fields=entry.get("fields", ""),
        since=tuple(int(part) for part in entry.get("since", "1.30").split(".")),
    )


def _merge(target: dict[str, Any], change: dict[str, Any]) -> None:
    for key, value in change.items():
        if isinstance(value, dict) and isinstance(target.get(key), dict):
            _merge(target[key], value)
        else:
            target[key] = value
