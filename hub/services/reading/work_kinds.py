"""Objects of the kinds that the hub dispatches besides Jobs, read by their definitions. No input or output.

Built-in definitions are trusted, so jq runs in place: some hundred microseconds for an object. What
administrators wrote is evaluated in a worker process (`declared_kinds`), beside the event loop.
"""

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from hub.domain.workloads.work_form import WorkForm
from hub.services.kinds.declared_kinds import NONE, DeclaredKind, DeclaredKinds
from shared.documents import Json, JsonView
from shared.errors import Rejected
from shared.kinds.dispatched import DISPATCHED, is_dispatched, names_queue
from shared.kinds.parsed import Parsed
from shared.kinds.problems import Problems
from shared.labels import QUEUE_NAME, RAY_PRIORITY_CLASS
from shared.podsecurity import check_writes
from shared.pointers import value_at
from shared.reject_codes import RejectCode
from shared.resources import PodSet
from shared.workkinds.catalog import builtin_catalog
from shared.workkinds.components import ObjectView
from shared.workkinds.definition import Definition
from shared.workkinds.essentials import essentials
from shared.workkinds.growing_kinds import refuse_growth
from shared.workkinds.held_form import WRAPPER, HeldForm, PodTemplate, held_form
from shared.workkinds.jq_language import JqLanguage
from shared.workkinds.jq_syntax import JqSyntax
from shared.workkinds.language import Language, StoppedEvaluation, Syntax
from shared.workkinds.object_rules import check_object
from shared.workkinds.objects import kind_name
from shared.workkinds.reading import KindReader, named_classes
from shared.workkinds.wrapped import check_wrapped, wrapped, wrapped_templates

# Its operator would delete the object after its end, or what it made: the hub tells the agent to.
_TTLS: Final = (
    "/spec/ttlSecondsAfterFinished",
    "/spec/runPolicy/ttlSecondsAfterFinished",
    "/spec/timeToLiveSeconds",
)
_RAY_CLASS: Final = f"/metadata/labels/{RAY_PRIORITY_CLASS.replace('/', '~1')}"
_APP_WRAPPER: Final = ("workload.codeflare.dev/v1beta2", "AppWrapper")
SECOND: Final = " ("  # behind a field, and before a number, of its later values
_MOST_SECONDS: Final = 2**31 - 1


class ReadWork(NamedTuple):
    """What an object of such a kind runs, and how it is written into a member."""

    pod_sets: tuple[PodSet, ...]
    form: WorkForm


def read_work(
    parsed: Parsed,
    *,
    from_client: bool = True,
    kinds: DeclaredKinds = NONE,
    stands: bool = False,
) -> ReadWork | None:
    """Read an object that names a queue; None for one that does not, and for every other kind.

    `from_client`: it came by REST, not from a hub cluster, whose API server has dropped unknown fields.
    `kinds`: those that administrators defined. `stands`: the hub has it, or is asked later whether it does
    (`taken_before.judged`), so that `refused_if_new` is not asked. Raises Rejected: every fault of its pod
    templates as those of a Job, with the fields, else what its definition refuses (NoAdapter,
    InvalidValue, …); OnEventLoop for one of `kinds` there.
    """
    fault = None if stands else refused_if_new(parsed.raw, from_client=from_client)
    if fault is not None:
        raise fault
    if not names_queue(parsed.raw.get("metadata")):
        return None
    if is_dispatched(parsed.api_version, parsed.kind):
        reader = _reader()
        definition = reader.catalog.find(kind_name(parsed.raw))
        assert definition is not None
        return _read(parsed, definition, reader, definition.karta.name, from_client=from_client)
    declared = kinds.find(parsed.api_version, parsed.kind)
    if declared is None:
        return None
    _require_dispatched(declared)
    found = declared

    def read(reader: KindReader) -> ReadWork:
        return _read(parsed, found.definition, reader, found.key, from_client=from_client)

    return kinds.evaluate(read)


def refused_if_new(raw: JsonView, *, from_client: bool) -> Rejected | None:
    """The refusal by rules that earlier releases did not have, so that they may have taken such an object.

    Work that would outgrow its charge, and an AppWrapper without a queue that wraps what one with a queue
    may not.
    """
    of = str(raw.get("apiVersion")), str(raw.get("kind"))
    try:
        if names_queue(raw.get("metadata")):
            if is_dispatched(*of):
                refuse_growth(*of, raw)
        elif of == _APP_WRAPPER:
            problems = Problems(strict=from_client)
            check_wrapped(_reader().catalog, raw, problems, from_client=from_client)
            problems.raise_if_any()
    except Rejected as refusal:
        return refusal
    return None


def _require_dispatched(declared: DeclaredKind) -> None:
    """Raise Rejected (NoAdapter) with what the definition lacks."""
    if declared.lacking:
        text = (
            f"kind: the hub reads {declared.version.kind} by definition {declared.key} and dispatches none: "
            f"{'; '.join(declared.lacking)}"
        )
        raise Rejected(RejectCode.NO_ADAPTER, text, "kind")


def _read(
    parsed: Parsed, definition: Definition, reader: KindReader, named: str, *, from_client: bool
) -> ReadWork:
    """By a definition, which agents know as `named`. Raises Rejected."""
    problems = Problems(strict=from_client)
    check_object(definition, parsed.raw, problems, from_client=from_client)
    if definition.extended.plugin == WRAPPER:
        check_wrapped(reader.catalog, parsed.raw, problems, from_client=from_client)
    problems.raise_if_any()
    document = essentials(parsed.raw)
    read = reader.read(document)
    if read.outcome != "managed":
        code = read.code or RejectCode.INVALID_VALUE
        raise Rejected(code, f"{parsed.kind}: {read.reason or read.outcome}", "spec")
    # A service is one job of all its workloads: a member runs the whole object.
    counts = {each.name: each.count * read.workloads for each in read.pod_sets}
    if not any(counts.values()):
        text = (
            f"{parsed.kind}: it would run no pods: give it a count of at least 1, or hold the job "
            "(roadstead jobs hold) to stop it and free its quota"
        )
        raise Rejected(RejectCode.INVALID_VALUE, text, "spec")
    language = reader.trusted if definition.trusted else reader.bounded
    templates = None
    if definition.extended.plugin == WRAPPER:
        templates = wrapped_templates(reader, document, parsed.raw)
    form = _held(definition, document, language, reader.syntax, templates)
    classes = _own_classes(definition, document, reader, language)
    # Counts are the object's own: nothing writes a smaller one into it.
    pod_sets = tuple(
        replace(each, min_count=None, count=counts[each.name]) for each in read.pod_sets
    )
    return ReadWork(
        pod_sets, replace(_work_form(named, parsed.raw, form, pod_sets), classes=classes)
    )


def _own_classes(
    definition: Definition, document: Json, reader: KindReader, language: Language
) -> dict[str, str]:
    """The priority classes that fields of the kind name, and of what is wrapped, by their fields.

    Each of several values of an expression has a name: all are judged.
    """
    found: dict[str, str] = {}
    try:
        for at, name in named_classes(definition, ObjectView(document, language, reader.syntax)):
            _note(found, at, name)
        for each in wrapped(document) if definition.extended.plugin == WRAPPER else ():
            inner = reader.catalog.find(kind_name(each.document))
            view = ObjectView(each.document, language, reader.syntax)
            for at, name in named_classes(inner, view) if inner is not None else ():
                _note(found, f"{each.at}.{at}", name)
            if own := value_at(each.document, _RAY_CLASS):
                found[f"{each.at}.metadata.labels[{RAY_PRIORITY_CLASS}]"] = str(own)
    except StoppedEvaluation as why:
        raise Rejected(RejectCode.INVALID_VALUE, f"set aside: {why}", "spec") from None
    return found


def _note(found: dict[str, str], at: str, name: str) -> None:
    found[f"{at}{SECOND}{len(found) + 1})" if at in found else at] = name


def _held(
    definition: Definition,
    document: Json,
    language: Language,
    syntax: Syntax,
    templates: Sequence[PodTemplate] | None,
) -> HeldForm:
    """Raises Rejected for an object that its definition does not hold, and for a stopped evaluation."""
    try:
        form = held_form(definition, document, language, syntax, templates)
    except StoppedEvaluation as why:
        raise Rejected(RejectCode.INVALID_VALUE, f"set aside: {why}", "spec") from None
    run = dict(form.run)
    same = [path for path, value in form.held if path not in run or run[path] == value]
    if same and not definition.trusted:
        text = f"{definition.of.kind}: its definition writes the same at {same[0]} to hold it and to run it"
        raise Rejected(RejectCode.INVALID_VALUE, text, "spec")
    if not definition.trusted:
        writes = [*form.held, *form.run]
        if faults := check_writes(document, [each.pointer for each in form.templates], writes):
            text = f"{definition.of.kind}: {faults[0].field}: {faults[0].message}"
            raise Rejected(RejectCode.INVALID_VALUE, text, faults[0].field)
    return form


def warm() -> None:
    """Load the definitions and compile what they say: some hundred milliseconds, not for the event loop."""
    reader = _reader()
    metadata = {"name": "none", "labels": {QUEUE_NAME: "none"}}
    for api_version, kind in sorted(DISPATCHED):
        spec: Json = {}
        reader.read({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec})


def _work_form(named: str, raw: Json, form: HeldForm, pod_sets: tuple[PodSet, ...]) -> WorkForm:
    rule: Json = {
        "definition": named,
        "held": [{"path": path, "value": value} for path, value in form.held],
        "run": [{"path": path, "value": value} for path, value in form.run],
        "templates": [each.pointer for each in form.templates],
        "pods": sum(each.count for each in pod_sets),
    }
    if form.scale:
        rule["scale"] = form.scale
    return WorkForm(
        rule=rule,
        pod_sets=[each.pod_set for each in form.templates],
        filled=[
            *(
                {"path": each.pointer, "value": each.filled}
                for each in form.templates
                if each.filled is not None
            ),
            *({"path": path, "value": value} for path, value in form.defaults),
        ],
        removed=[*form.removed, *(each for each in _TTLS if value_at(raw, each) is not None)],
        ttl_s=_ttl(raw),
    )


def _ttl(raw: JsonView) -> int | None:
    """Seconds from its end to its deletion. Raises Rejected for what is no such number."""
    for pointer in _TTLS:
        value = value_at(raw, pointer)
        if value is None:
            continue
        field = pointer[1:].replace("/", ".")
        if isinstance(value, bool) or not isinstance(value, int):
            raise Rejected(RejectCode.INVALID_TYPE, f"{field}: must be a whole number", field)
        if not 0 <= value <= _MOST_SECONDS:
            text = f"{field}: must be from 0 to {_MOST_SECONDS}"
            raise Rejected(RejectCode.OUT_OF_RANGE, text, field)
        return value
    return None


@functools.cache
def _reader() -> KindReader:
    language = JqLanguage()
    return KindReader(builtin_catalog(), language, language, JqSyntax())
