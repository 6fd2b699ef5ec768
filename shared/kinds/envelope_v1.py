"""KubeFleet's ClusterResourceEnvelope and ResourceEnvelope: objects that are for members and not for the hub.

`data` has manifests by name. `open_envelope` reads them one by one: each is an object that can be placed,
or has faults. What comes by REST with faults is refused whole; of what the hub cluster has, the rest is
placed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Protocol

import orjson
from pydantic import Field

from shared.cron_template import named, queue_of, template_metadata
from shared.errors import FieldError, Rejected
from shared.kinds.dispatched import CRON_JOB, is_dispatched, names_queue
from shared.kinds.model import Model, Opaque
from shared.kinds.parsed import Parsed
from shared.kinds.placement_rules import is_reserved_namespace
from shared.kinds.problems import MOST_REPORTED, Problems, join
from shared.kinds.scopes import (
    is_cluster_scoped,
    is_enveloping,
    is_made_everywhere,
    is_namespaced,
    is_never_placed,
)
from shared.labels import QUEUE_NAME
from shared.reject_codes import RejectCode

MOST: Final = 50  # manifests of an envelope
MOST_BYTES: Final = 1024 * 1024  # of them together, as JSON
LONGEST_KEY: Final = 253
_JOB: Final = ("batch/v1", "Job")
_QUEUE: Final = f"metadata.labels[{QUEUE_NAME}]"
_KEPT: Final = ("name", "labels", "annotations")

Content = dict[str, Any]


class Envelope(Model):
    data: Annotated[dict[str, Opaque], Field(min_length=1, max_length=MOST)]


class Parse(Protocol):
    """`shared.kinds.registry.parse`, which reads envelopes too."""

    def __call__(
        self, manifest: object, *, strict: bool, origin: Any, default_namespace: str
    ) -> Parsed: ...


@dataclass(frozen=True, slots=True)
class Enveloped:
    """One manifest of an envelope. Without `faults` it can be placed; with them the rest may be empty."""

    key: str
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    labels: Mapping[str, str] | None = None
    annotations: Mapping[str, str] | None = None
    manifest: Content | None = None
    faults: tuple[FieldError, ...] = ()

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]

    @property
    def why(self) -> str:
        """The first fault as a sentence; "" where there is none."""
        return f"{self.faults[0].field}: {self.faults[0].message}" if self.faults else ""


def check_envelope(content: Content, problems: Problems) -> None:
    """How large it may be, and how manifests may be called in it."""
    for key in content["data"]:
        if not key or len(key) > LONGEST_KEY:
            rule = f"a name of a manifest has 1 to {LONGEST_KEY} characters"
            problems.add(join("data", key), RejectCode.TOO_LONG, rule)
    size = len(orjson.dumps(content["data"]))
    if size > MOST_BYTES:
        rule = f"holds {size} bytes; at most {MOST_BYTES}: use several envelopes"
        problems.add("data", RejectCode.TOO_LONG, rule)


def kept(content: Content) -> Content:
    """The plain facts kept beside the manifest: the names, and nothing of their values."""
    return {"manifests": sorted(content["data"])}


def opened(envelope: Parsed, parse: Parse, *, strict: bool, refuse: bool) -> Parsed:
    """An envelope once its manifests have been read. Faults are raised (`refuse`), or are its hindrance.

    Raises Rejected with the faults of all manifests.
    """
    faults: list[FieldError] = []
    for each in open_envelope(envelope.raw, envelope.kind, envelope.namespace, parse, strict):
        faults += each.faults
    if not faults:
        return envelope
    first = faults[0]
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    if refuse:
        detail = f"{first.field}: {first.message}{more}"
        raise Rejected(first.code, detail, first.field, tuple(faults[:MOST_REPORTED]))
    return replace(envelope, hindrance=replace(first, message=f"{first.message}{more}"))


def open_envelope(
    manifest: Mapping[str, Any], kind: str, namespace: str, parse: Parse, strict: bool = False
) -> list[Enveloped]:
    """The manifests of an envelope by their names. `namespace`: its own, "" of a ClusterResourceEnvelope."""
    data = manifest.get("data")
    given = sorted(data.items()) if isinstance(data, dict) else []
    return [_one(key, inner, kind, namespace, parse, strict=strict) for key, inner in given]


def _one(
    key: str, inner: object, kind: str, namespace: str, parse: Parse, *, strict: bool
) -> Enveloped:
    field = join("data", key)
    told = _identity(key, inner, namespace)
    try:
        _refuse_early(inner)
        # As an API server gives it: it may have been read from one, and what servers write is dropped.
        parsed = parse(
            inner, strict=strict, origin="hub-cluster", default_namespace=namespace or "default"
        )
        found = _placeable(parsed, kind, namespace)
    except Rejected as refusal:
        errors = refusal.errors or (FieldError("", refusal.code, refusal.detail),)
        faults = tuple(
            FieldError(f"{field}.{each.field}".rstrip("."), each.code, each.message)
            for each in errors
        )
        return replace(told, faults=faults)
    return replace(found, key=key)


def _identity(key: str, inner: object, namespace: str) -> Enveloped:
    """As far as it says what it is."""
    one: Mapping[str, Any] = inner if isinstance(inner, dict) else {}
    metadata = one.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else ""
    return Enveloped(
        key, _text(one.get("apiVersion")), _text(one.get("kind")), namespace, _text(name)
    )


def _text(value: object) -> str:
    return value[:LONGEST_KEY] if isinstance(value, str) else ""


def _refuse_early(inner: object) -> None:
    """What would be told in other words by whoever reads the kind. Raises Rejected."""
    if not isinstance(inner, dict):
        return
    metadata = inner.get("metadata")
    if isinstance(metadata, dict) and metadata.get("generateName"):
        text = "a manifest in an envelope has a name: every reading would make another one"
        raise Rejected(RejectCode.FORBIDDEN_FIELD, text, "metadata.generateName")
    if (inner.get("apiVersion"), inner.get("kind")) == _JOB:
        text = (
            "a Job runs once, in one cluster, when its queue lets it: take it out of the envelope and "
            "submit it; it does not run on the hub cluster"
        )
        raise Rejected(RejectCode.UNSUPPORTED_KIND, text, "kind")


def _placeable(parsed: Parsed, kind: str, namespace: str) -> Enveloped:
    """The placed part of a manifest that was read. Raises Rejected where that is nothing."""
    for code, field, text in _objections(parsed, kind, namespace):
        raise Rejected(code, text, field)
    where = "" if not namespace else (parsed.namespace or namespace)
    metadata = parsed.raw.get("metadata") or {}
    marks = {name: metadata[name] for name in _KEPT if metadata.get(name)}
    manifest = {name: value for name, value in parsed.raw.items() if name != "status"}
    manifest["metadata"] = marks | ({"namespace": where} if where else {})
    return Enveloped(
        "", parsed.api_version, parsed.kind, where, parsed.name, parsed.labels,
        parsed.annotations, manifest,
    )  # fmt: skip


def _queued_field(api_version: str, kind: str, manifest: Mapping[str, Any]) -> str:
    """The field that queues a manifest: of a CronJob, or of a kind that the hub dispatches; else ""."""
    metadata = manifest.get("metadata") or {}
    if (api_version, kind) == CRON_JOB and queue_of(metadata, manifest.get("spec")):
        template = template_metadata(manifest.get("spec"))
        return f"{'spec.jobTemplate.' * bool(named(template, QUEUE_NAME))}{_QUEUE}"
    return _QUEUE if is_dispatched(api_version, kind) and names_queue(metadata) else ""


def _objections(
    parsed: Parsed, kind: str, namespace: str
) -> Iterator[tuple[RejectCode, str, str]]:
    one = (parsed.group, parsed.kind)
    if (
        is_never_placed(*one)
        or is_enveloping(*one)
        or is_made_everywhere(parsed.kind, parsed.name)
    ):
        text = f"no placement carries {parsed.kind} {parsed.name}: take it out"
        yield RejectCode.UNSUPPORTED_KIND, "kind", text
    if field := _queued_field(parsed.api_version, parsed.kind, parsed.raw):
        text = (
            f"the {parsed.kind} names a LocalQueue, and in an envelope it runs past that queue's quota: take "
            "it out of the envelope and apply it, or name no queue"
        )
        yield RejectCode.FORBIDDEN_FIELD, field, text
    if one == ("", "Secret") and parsed.raw.get("type") == "kubernetes.io/service-account-token":
        yield RejectCode.UNSUPPORTED_KIND, "type", "each cluster makes tokens itself: take it out"
    if one == ("", "Namespace") and is_reserved_namespace(parsed.name):
        text = f"{parsed.name}: default, kube-* and fleet-* cannot be placed"
        yield RejectCode.RESERVED_NAMESPACE, "metadata.name", text
    given = (parsed.raw.get("metadata") or {}).get("namespace") or ""
    if namespace:
        if is_cluster_scoped(*one):
            text = f"{parsed.kind} is cluster-scoped: put it into a ClusterResourceEnvelope"
            yield RejectCode.WRONG_SCOPE, "kind", text
        if given not in ("", namespace):
            text = f"a {kind} holds objects of its own namespace, {namespace}, alone"
            yield RejectCode.WRONG_SCOPE, "metadata.namespace", text
    elif is_namespaced(*one) or (given and not is_cluster_scoped(*one)):
        text = (
            f"{parsed.kind} lives in a namespace: put it into a ResourceEnvelope of that namespace"
        )
        yield RejectCode.WRONG_SCOPE, "kind", text
