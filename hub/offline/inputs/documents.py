"""Manifests from files, each with where it stood, so that every refusal can name the place."""

import datetime as dt
import json
import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hub.domain.instants import to_micros
from shared import manifests
from shared.bounds import FileTooLarge, read_whole
from shared.documents import Json, JsonView
from shared.errors import Rejected
from shared.groups import PLACEMENT
from shared.kinds.parsed import Parsed
from shared.kinds.registry import identify, parse

_PLACEHOLDER: Final = {"name": "main", "image": "none"}
_STANDARD_INPUT: Final = Path("-")
_SOMETHING: Final = {"group": "", "version": "v1", "name": "something"}
# What a placement selects that does not say it: where it would go depends on its policy alone.
_ANYTHING: Final = {
    "ClusterResourcePlacement": {**_SOMETHING, "kind": "Namespace"},
    "ResourcePlacement": {**_SOMETHING, "kind": "ConfigMap"},
}


class Unreadable(Exception):
    """An input that can not be used: file, document (from 1), field and what is wrong with it."""

    def __init__(self, file: str, document: int, field: str, detail: str) -> None:
        place = [file, f"document {document}"] if document else [file]
        super().__init__(": ".join([", ".join([*place, *([field] if field else [])]), detail]))
        self.file = file
        self.document = document
        self.field = field


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """One manifest, read: `group`/`kind`, its content in the internal shape, its raw status."""

    file: str
    number: int
    group: str
    parsed: Parsed
    raw: JsonView

    @property
    def kind(self) -> str:
        return self.parsed.kind

    @property
    def name(self) -> str:
        return self.parsed.name

    @property
    def status(self) -> JsonView:
        return self.mapping("status")

    def mapping(self, *path: str) -> JsonView:
        """An object below the manifest; empty where absent. Raises `Unreadable` for anything else."""
        at: Any = self.raw
        for depth, name in enumerate(path):
            at = at.get(name)
            if at is None:
                return {}
            if not isinstance(at, dict):
                raise self.fault(".".join(path[: depth + 1]), "must be an object")
        found: JsonView = at
        return found

    def objects(self, *path: str) -> list[JsonView]:
        """A list of objects below the manifest; empty where absent. Raises `Unreadable`."""
        listed = self.mapping(*path[:-1]).get(path[-1])
        field = ".".join(path)
        if listed is None:
            return []
        if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
            raise self.fault(field, "must be a list of objects")
        return listed

    def instant(self, text: object, field: str) -> int:
        """Microseconds since the epoch of an RFC 3339 text; raises `Unreadable`."""
        try:
            return read_instant(str(text))
        except ValueError:
            raise self.fault(field, f"{text!r} is no RFC 3339 time") from None

    def fault(self, field: str, detail: str) -> Unreadable:
        return Unreadable(self.file, self.number, field, detail)


def read_instant(text: str) -> int:
    """Microseconds since the epoch; raises ValueError."""
    instant = dt.datetime.fromisoformat(text)
    if instant.tzinfo is None:
        instant = instant.replace(tzinfo=dt.UTC)
    return to_micros(instant)


def read_files(
    paths: Iterable[Path], kinds: Collection[tuple[str, str]] | None = None
) -> list[Document]:
    """Every document of every file, in order; "-" is standard input, which is read once.

    `kinds`: by group and name; of others only apiVersion and kind are looked at, and they are left out.
    Raises `Unreadable` for the first document that can not be used.
    """
    listed = list(paths)
    if listed.count(_STANDARD_INPUT) > 1:
        raise Unreadable(str(_STANDARD_INPUT), 0, "", "standard input can be read once only")
    return [document for path in listed for document in _read_file(path, kinds)]


def read_bytes(path: Path) -> bytes:
    """A file of at most 256 MiB; "-" is standard input. Raises `Unreadable`."""
    try:
        if path == _STANDARD_INPUT:
            return read_whole(sys.stdin.buffer)
        with path.open("rb") as opened:
            return read_whole(opened)
    except OSError as cause:
        raise Unreadable(str(path), 0, "", cause.strerror or str(cause)) from None
    except FileTooLarge as cause:
        raise Unreadable(str(path), 0, "", f"{cause}: split it into several files") from None


def read_content(path: Path) -> list[Any]:
    """The raw documents of a YAML or JSON file; raises `Unreadable`."""
    body = read_bytes(path)
    kind = "application/json" if path.suffix == ".json" else "application/yaml"
    try:
        return [item for _, item in manifests.read_documents(body, kind)]
    except Rejected as refusal:
        raise Unreadable(str(path), 0, refusal.field, refusal.detail) from None


def _read_file(path: Path, kinds: Collection[tuple[str, str]] | None) -> list[Document]:
    found = []
    listed = [item for document in read_content(path) for item in _items(document)]
    for number, manifest in enumerate(listed, start=1):
        if manifest is not None and (kinds is None or _kind(path, number, manifest) in kinds):
            found.append(read_document(str(path), number, manifest))
    return found


def _items(document: object) -> list[object]:
    """The items of a list of one kind, as API servers answer it: its items need not say what they are."""
    if not isinstance(document, dict):
        return [document]
    kind, items = document.get("kind"), document.get("items")
    if not isinstance(kind, str) or not kind.endswith("List") or not isinstance(items, list):
        return [document]
    said = {"apiVersion": document.get("apiVersion"), "kind": kind.removesuffix("List")}
    return [{**said, **item} if isinstance(item, dict) else item for item in items]


def _kind(path: Path, number: int, manifest: object) -> tuple[str, str]:
    try:
        group, _, kind = identify(manifest)
    except Rejected as refusal:
        detail = f"{refusal.code}: {refusal.detail}"
        raise Unreadable(str(path), number, refusal.field, detail) from None
    return group, kind


def read_document(file: str, number: int, manifest: Any) -> Document:
    """One manifest; raises `Unreadable` with the first field that is wrong."""
    try:
        group, _, kind = identify(manifest)
        parsed = parse(_completed(group, kind, manifest), origin="hub-cluster")
    except Rejected as refusal:
        first = refusal.errors[0] if refusal.errors else None
        field = first.field if first else refusal.field
        detail = f"{refusal.code}: {first.message if first else refusal.detail}"
        raise Unreadable(file, number, field, detail) from None
    if why := parsed.hindrance:
        raise Unreadable(file, number, why.field, f"{why.code}: {why.message}")
    return Document(file, number, group, parsed, manifest)


def _completed(group: str, kind: str, manifest: Json) -> Json:
    """What a scenario may leave out: names and images of containers, selectors; what only it has: pools."""
    if group == "kueue.x-k8s.io" and kind == "Workload":
        copy: Json = json.loads(json.dumps(manifest))
        spec = copy.get("spec")
        pod_sets = spec.get("podSets") if isinstance(spec, dict) else None
        for pod_set in pod_sets if isinstance(pod_sets, list) else ():
            if isinstance(pod_set, dict):
                _complete_template(pod_set)
        return copy
    if kind != "MemberCluster" and not (group == PLACEMENT and kind in _ANYTHING):
        return manifest
    told = {k: _without_nulls(v) for k, v in _with_values(manifest).items() if v is not None}
    spec = told.get("spec")
    if isinstance(spec, dict) and kind == "MemberCluster":
        told["spec"] = {k: v for k, v in spec.items() if k not in {"pools", "nodePools"}}
    elif isinstance(spec, dict):
        told["spec"] = {"resourceSelectors": [_ANYTHING[kind]], **spec}
    return told


def _with_values(manifest: Json) -> Json:
    """A label without a value (`gpu:` in YAML) is empty, as API servers read it."""
    metadata = manifest.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(labels, dict):
        return manifest
    given = {name: "" if value is None else value for name, value in labels.items()}
    return {**manifest, "metadata": {**metadata, "labels": given}}


def _without_nulls(value: object) -> object:
    """A field that is null is not given, as API servers read it."""
    if isinstance(value, dict):
        return {k: _without_nulls(v) for k, v in value.items() if v is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value


def _complete_template(pod_set: Json) -> None:
    template = pod_set.setdefault("template", {})
    spec = template.setdefault("spec", {}) if isinstance(template, dict) else None
    if not isinstance(spec, dict):
        return
    containers = spec.get("containers")
    if not containers:
        spec["containers"] = [dict(_PLACEHOLDER)]
    for part in ("containers", "initContainers"):
        listed = spec.get(part)
        for index, container in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(container, dict):
                container.setdefault("name", f"{part[0]}{index}")
                container.setdefault("image", _PLACEHOLDER["image"])
                _complete_limits(container.get("resources"))


def _complete_limits(resources: Any) -> None:
    """Devices are requested and limited alike; a scenario may name the request alone."""
    requests = resources.get("requests") if isinstance(resources, dict) else None
    if not isinstance(requests, dict):
        return
    limits = resources.setdefault("limits", {})
    for resource, amount in requests.items():
        if isinstance(limits, dict) and "/" in str(resource):
            limits.setdefault(resource, amount)
