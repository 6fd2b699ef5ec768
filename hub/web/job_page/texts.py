"""Texts to copy from a job's page: its manifest as YAML, and commands."""

import functools
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import orjson
import yaml

from hub.domain.workloads.states import TERMINAL
from shared.documents import Json
from shared.yaml_quoting import quoting

_LONGEST: Final = 200_000  # characters of a manifest that are shown
_DUMPER: Final = quoting(getattr(yaml, "CSafeDumper", yaml.SafeDumper))


@dataclass(frozen=True, slots=True)
class Command:
    """One command, and what it is for."""

    does: str
    text: str


def manifest_text(manifest: Json | None) -> str:
    """A manifest as YAML; "" if there is none."""
    return "" if manifest is None else _dumped(orjson.dumps(manifest))


@functools.lru_cache(maxsize=32)
def _dumped(manifest: bytes) -> str:
    """Dumped once, however often its page is renewed."""
    found: str = yaml.dump(
        orjson.loads(manifest), Dumper=_DUMPER, sort_keys=False, allow_unicode=False, width=100
    )
    if len(found) <= _LONGEST:
        return found
    return f"{found[:_LONGEST]}\n# … and more: roadstead jobs show -o yaml\n"


def commands_of(shown: Json) -> tuple[Command, ...]:
    """The questions and actions of a job in its present state."""
    return tuple(Command(does, told) for does, told in _commands(shown))


def _commands(shown: Json) -> Iterator[tuple[str, str]]:
    name = shlex.quote(f"{shown['namespace']}/{shown['name']}")
    yield "everything about it", f"roadstead jobs show {name}"
    yield "why it is in this state", f"roadstead explain {name}"
    yield "logs of all pods", f"roadstead logs {name} -f"
    if shown["cluster"]:  # else there are none
        yield "pods and the member's events", f"roadstead jobs pods {name} --events"
    yield "submit it again", f"roadstead jobs resubmit {name}"
    if shown["state"] == "Held":
        yield "let it go", f"roadstead jobs release {name}"
    elif shown["state"] not in TERMINAL:
        yield "hold it back", f"roadstead jobs hold {name}"
    if shown["state"] not in TERMINAL:
        yield "stop it", f"roadstead jobs cancel {name}"
    if shown["origin"] == "hub-cluster":
        plain, namespace = shlex.quote(str(shown["name"])), shlex.quote(str(shown["namespace"]))
        kind = "job" if shown["kind"] == "Job" else "workloads.kueue.x-k8s.io"
        yield "on the hub cluster", f"kubectl describe {kind} {plain} -n {namespace}"
