"""Definitions of kinds as objects: a Karta and its KindExtension, checked as they come in and put together.

No input or output. Each document is checked alone as it is read; what they say together is judged in the
transaction that keeps them, by `judge`.
"""

import asyncio
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import orjson

from hub.services.kinds.declared_kinds import ApiKind, OnEventLoop
from shared.documents import Json, JsonView
from shared.errors import Rejected
from shared.groups import CLUSTER, KUEUE, PLACEMENT
from shared.kinds.parsed import Parsed
from shared.reject_codes import RejectCode
from shared.workkinds import parse_extension, parse_karta
from shared.workkinds.catalog import builtin_catalog, read_definitions
from shared.workkinds.definition import Definition, Karta, KindName
from shared.workkinds.dispatchable import taken_name
from shared.workkinds.jq_language import CompiledSyntax
from shared.workkinds.places import plain_path
from shared.workkinds.plugins import PLUGINS

KARTA: Final = (parse_karta.API_VERSION.partition("/")[0], parse_karta.KIND)
EXTENSION: Final = (parse_extension.API_VERSION.partition("/")[0], parse_extension.KIND)
_ROOT: Final = "spec.structureDefinition.rootComponent"
KIND_FIELD: Final = f"{_ROOT}.kind"  # of a Karta
_ACTIONS_FIELD: Final = f"{_ROOT}.suspendDefinition"
MOST_BYTES: Final = 64 << 10  # of a document
MOST_EXPRESSIONS: Final = 256  # of a document: each takes milliseconds to compile
# As API servers have them: a DNS subdomain, a DNS label, and letters and digits in CamelCase.
_GROUP: Final = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
)
_VERSION: Final = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_KIND: Final = re.compile(r"[A-Z][A-Za-z0-9]{0,62}")
_OURS: Final = frozenset({CLUSTER, KUEUE, PLACEMENT, KARTA[0], EXTENSION[0]})


def is_definition(group: str, kind: str) -> bool:
    """True if an object defines a kind, or a part of one."""
    return (group, kind) in (KARTA, EXTENSION)


def check(parsed: Parsed) -> None:
    """Raise Rejected, with the fields, for a document that no definition may be; OnEventLoop there."""
    if not is_definition(parsed.group, parsed.kind):
        return
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        _check(parsed)
    else:
        raise OnEventLoop


def _check(parsed: Parsed) -> None:
    document = _bare(parsed.raw)
    if len(orjson.dumps(document)) > MOST_BYTES:
        raise Rejected(
            RejectCode.TOO_MANY_ITEMS, f"spec: has more than {MOST_BYTES >> 10} KiB", "spec"
        )
    if sum(1 for _ in parse_karta.expressions_of(document.get("spec"), "spec")) > MOST_EXPRESSIONS:
        text = f"spec: has more than {MOST_EXPRESSIONS} expressions"
        raise Rejected(RejectCode.TOO_MANY_ITEMS, text, "spec")
    if (parsed.group, parsed.kind) == KARTA:
        karta = parse_karta.parse_karta(document, CompiledSyntax())
        if why := _not_to_be_defined(karta.of):
            raise Rejected(RejectCode.INVALID_VALUE, f"{KIND_FIELD}: {why}", KIND_FIELD)
        _check_actions(karta)
    else:
        parse_extension.parse_extension(
            document, CompiledSyntax(), frozenset(PLUGINS), trusted=False
        )


def _check_actions(karta: Karta) -> None:
    """Raise Rejected for an action that writes beyond the spec, or a pod template."""
    templates = [path for each in karta.components if (path := plain_path(each.template))]
    for name, actions in (("suspendActions", karta.suspend), ("resumeActions", karta.resume)):
        for index, each in enumerate(actions):
            field = f"{_ACTIONS_FIELD}.{name}[{index}].path"
            place = each.path.strip().replace("[]", "")
            if not place.startswith(".spec."):
                why = f"{each.path} is not below .spec: an object is held by fields of its spec alone"
                raise Rejected(RejectCode.INVALID_VALUE, f"{field}: {why}", field)
            for template in (one.replace("[]", "") for one in templates):
                if f"{place}.".startswith(f"{template}.") or f"{template}.".startswith(
                    f"{place}."
                ):
                    why = f"{each.path} would write a pod template: name a field beside them"
                    raise Rejected(RejectCode.INVALID_VALUE, f"{field}: {why}", field)


def kind_of(karta: JsonView) -> KindName:
    """The kind that a checked Karta defines."""
    of = karta["spec"]["structureDefinition"]["rootComponent"]["kind"]
    return KindName(str(of.get("group") or ""), str(of["version"]), str(of["kind"]))


def _not_to_be_defined(of: KindName) -> str:
    """The reason against a definition of this kind by administrators; "" if they may write one."""
    if not _GROUP.fullmatch(of.group) and of.group:
        return f"{of.group} is no API group: lower-case letters, digits, - and ."
    if not _VERSION.fullmatch(of.version) or not _KIND.fullmatch(of.kind):
        return f"{of}: a version is such as v1, and a kind such as RayCluster, in CamelCase"
    place = of.group, of.kind.casefold()
    if any((each.of.group, each.of.kind.casefold()) == place for each in builtin_catalog()):
        return f"Roadstead brings the definition of {of.kind} of {of.group or 'the core group'}"
    if "." not in of.group or of.group.endswith(".k8s.io") or of.group in _OURS:
        return f"{of} is no custom resource of an operator: those alone are defined"
    return taken_name(of)


@dataclass(frozen=True, slots=True)
class GivenDefinition:
    """A Karta, its extensions, and what there is to say of them together.

    `fault`: why they are no version; "" if they are one. `definition`: None where they cannot be read; a
    sound one has a fault where another Karta defines its kind.
    """

    karta: Json
    extensions: Sequence[Json]
    fault: str = ""
    definition: Definition | None = None

    @property
    def name(self) -> str:
        return str(self.karta["metadata"]["name"])

    @property
    def extension(self) -> Json | None:
        return self.extensions[0] if self.extensions else None

    @property
    def hash(self) -> str:
        """Of what both documents say."""
        body = orjson.dumps([self.karta, self.extension], option=orjson.OPT_SORT_KEYS)
        return hashlib.blake2b(body, digest_size=16).hexdigest()


def judge(
    kartas: Iterable[JsonView],
    extensions: Iterable[JsonView],
    in_use: Mapping[str, ApiKind] | None = None,
) -> list[GivenDefinition]:
    """All Kartas, by name, with their extensions. `in_use`: as of `without_rivals`."""
    by_karta: dict[str, list[Json]] = {}
    for each in extensions:
        document = _bare(each)
        by_karta.setdefault(str(document["spec"].get("karta")), []).append(document)
    found = []
    for document in sorted(map(_bare, kartas), key=lambda each: str(each["metadata"]["name"])):
        beside = by_karta.get(str(document["metadata"]["name"]), [])
        given = GivenDefinition(document, sorted(beside, key=lambda e: str(e["metadata"]["name"])))
        found.append(_read(given))
    return without_rivals(found, in_use or {})


def without_rivals(
    given: Iterable[GivenDefinition], in_use: Mapping[str, ApiKind]
) -> list[GivenDefinition]:
    """The same, by name, with a fault of each Karta whose kind another one defines.

    `in_use`: by name of Kartas, the kinds of which their current versions read objects. They keep them;
    of the others the first by name gets a kind.
    """
    taken = {kind: name for name, kind in in_use.items()}
    listed = sorted(given, key=lambda each: each.name)
    sound = {each.name: each.definition.of for each in listed if each.definition is not None}
    released = True
    while released:
        released = False
        for name in sorted(sound, key=lambda each: (each not in in_use, each)):
            before, kind = in_use.get(name), _kind(sound[name])
            has_it = taken.setdefault(kind, name) == name
            if has_it and before not in (None, kind) and taken.get(before) == name:
                del taken[before]  # it defines another kind now
                released = True
    return [
        replace(each, fault=f"Karta {taken[_kind(of)]} defines {of} already: delete one of them")
        if (of := sound.get(each.name)) is not None and taken[_kind(of)] != each.name
        else each
        for each in listed
    ]


def _kind(of: KindName) -> ApiKind:
    return of.api_version, of.kind


def _read(given: GivenDefinition) -> GivenDefinition:
    if len(given.extensions) > 1:
        names = ", ".join(str(each["metadata"]["name"]) for each in given.extensions)
        fault = f"several KindExtensions name this Karta ({names}): keep one of them"
        return replace(given, fault=fault)
    try:
        (definition,) = read_definitions([given.karta, *given.extensions], given.name)
    except Rejected as refusal:
        return replace(given, fault=refusal.detail)
    return replace(given, definition=definition)


def _bare(document: JsonView) -> Json:
    """A document without status, and with the name alone of its metadata."""
    name = (document.get("metadata") or {}).get("name")
    kept = {key: value for key, value in document.items() if key != "status"}
    return {**kept, "metadata": {"name": name}}
