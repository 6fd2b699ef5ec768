"""Objects within an AppWrapper: their kinds, their rules, and their pod templates.

The hub marks each pod template, so it must know where all of them are. A member proves that no pods are left
by the kinds between (`agent.objects.holds.WRAPPED`): so no other kinds may be wrapped.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from shared.errors import Rejected
from shared.kinds import batch_v1, pod
from shared.kinds.constraints import check_template_annotations
from shared.kinds.dispatched import names_queue
from shared.kinds.problems import Problems, is_mapping, objects
from shared.podsecurity import appwrapper
from shared.reject_codes import RejectCode
from shared.workkinds.catalog import KindCatalog
from shared.workkinds.components import ObjectView, as_it_would_run, with_defaults
from shared.workkinds.held_form import PodTemplate, templates_of
from shared.workkinds.object_rules import check_object
from shared.workkinds.objects import kind_name
from shared.workkinds.plugins.appwrapper import pointer_of
from shared.workkinds.plugins.call import mapping, mappings
from shared.workkinds.pod_sets import describe
from shared.workkinds.reading import KindReader

Json = Mapping[str, Any]
_SERVICE_FIELDS: Final = frozenset(
    {"selector", "ports", "clusterIP", "type", "publishNotReadyAddresses", "sessionAffinity"}
)
_OF_OPERATOR: Final = "workload.codeflare.dev.appwrapper/"


class Wrapped(NamedTuple):
    """One object in an AppWrapper. `at`: its path."""

    component: int
    at: str
    document: dict[str, Any]

    @property
    def api_version(self) -> str:
        return str(self.document.get("apiVersion"))

    @property
    def kind(self) -> str:
        return str(self.document.get("kind"))

    @property
    def pointer(self) -> str:
        return f"/spec/components/{self.component}/template"


def wrapped(raw: Json) -> Iterator[Wrapped]:
    """The objects in an AppWrapper, in order."""
    for index, component in enumerate(mappings(dict(raw), "spec", "components")):
        template = component.get("template")
        if isinstance(template, dict):
            yield Wrapped(index, f"spec.components[{index}].template", template)


def check_wrapped(
    catalog: KindCatalog, raw: Json, problems: Problems, *, from_client: bool
) -> None:
    """Note every fault of the objects in an AppWrapper, with the fields."""
    spec = mapping(dict(raw), "spec")
    for at, component in objects(spec.get("components"), "spec.components", problems):
        if not isinstance(component.get("template"), dict):
            if is_mapping(component.get("template"), f"{at}.template", problems):
                continue
            if component.get("template") is None:
                problems.add(f"{at}.template", RejectCode.REQUIRED, "a component has a template")
    if names_queue(raw.get("metadata")):
        _check_annotations(raw, problems)
    namespace = mapping(dict(raw), "metadata").get("namespace")
    names: set[tuple[str, str, str]] = set()
    for each in wrapped(raw):
        place = (each.api_version, each.kind, str(mapping(each.document, "metadata").get("name")))
        if place in names:
            rule = "another component has this kind and name: an API server keeps one of them"
            problems.add(f"{each.at}.metadata.name", RejectCode.INVALID_VALUE, rule)
        names.add(place)
        found = Problems(strict=problems.strict)
        _check_one(catalog, each, namespace, found, from_client=from_client)
        for fault in found.found:
            problems.add(f"{each.at}.{fault.field.lstrip('.')}", fault.code, fault.message)


def _check_annotations(raw: Json, problems: Problems) -> None:
    """Its operator reads retries and times to live from them: it would run again what has ended."""
    for key in mapping(dict(raw), "metadata", "annotations"):
        if str(key).startswith(_OF_OPERATOR):
            rule = "retries and times to live are the hub's: roadstead.dev/retry gives retries"
            field = f"metadata.annotations[{str(key)[:80]}]"
            problems.add(field, RejectCode.FORBIDDEN_FIELD, rule)


def _check_one(
    catalog: KindCatalog,
    each: Wrapped,
    namespace: object,
    problems: Problems,
    *,
    from_client: bool,
) -> None:
    key = (each.api_version, each.kind)
    if key == appwrapper.SERVICE:
        _check_service(each, problems)
    elif key not in appwrapper.WITH_PODS:
        rule = (
            f"an AppWrapper wraps {appwrapper.NAMED} and Services: the pods of a "
            f"{each.kind[:80]} could not be told from those of others"
        )
        problems.add("kind", RejectCode.UNSUPPORTED_KIND, rule)
        return
    metadata = each.document.get("metadata")
    if not isinstance(metadata, dict):
        problems.add("metadata", RejectCode.REQUIRED, "an object has metadata with a name")
        return
    _check_place(metadata, namespace, problems)
    if key == appwrapper.POD:
        body = {k: v for k, v in each.document.items() if k in ("metadata", "spec")}
        pod.check_template(body, "", problems, of_job=False)
        asked = metadata.get("annotations")
        if isinstance(asked, dict):
            check_template_annotations(asked, "metadata.annotations", problems)
    elif key == appwrapper.JOB:
        spec = mapping(each.document, "spec")
        _check_job(spec, problems, from_client=from_client)
    elif key in appwrapper.WITH_PODS:
        definition = catalog.find(kind_name(each.document))
        assert definition is not None
        check_object(definition, each.document, problems, from_client=from_client)


def _check_job(spec: Json, problems: Problems, *, from_client: bool) -> None:
    if spec.get("suspend"):
        rule = "nobody would start it: the AppWrapper is held as a whole, leave it out"
        problems.add("spec.suspend", RejectCode.FORBIDDEN_FIELD, rule)
    batch_v1.check_job_spec(spec, problems, from_client=from_client)
    pod.check_template(spec.get("template"), "spec.template", problems, of_job=True)


def _check_place(metadata: Json, namespace: object, problems: Problems) -> None:
    if not metadata.get("name"):
        problems.add("metadata.name", RejectCode.REQUIRED, "an object in an AppWrapper has a name")
    if metadata.get("namespace") not in (None, "", namespace or "default"):
        rule = "is the AppWrapper's: leave it out"
        problems.add("metadata.namespace", RejectCode.INVALID_VALUE, rule)
    if names_queue(metadata):
        rule = "the AppWrapper names the queue: take it off"
        problems.add("metadata.labels", RejectCode.INVALID_COMBINATION, rule)


def _check_service(each: Wrapped, problems: Problems) -> None:
    """A Service within the cluster: others claim addresses that are not the namespace's."""
    spec = mapping(each.document, "spec")
    for name in sorted(spec.keys() - _SERVICE_FIELDS):
        rule = "a Service in an AppWrapper stands before its pods, within the cluster, and no more"
        problems.add(f"spec.{name[:80]}", RejectCode.FORBIDDEN_FIELD, rule)
    if spec.get("type") not in (None, "ClusterIP"):
        problems.add("spec.type", RejectCode.FORBIDDEN_FIELD, "must be ClusterIP")


def wrapped_templates(reader: KindReader, document: Json, raw: Json) -> list[PodTemplate]:
    """The pod templates of all objects in an AppWrapper, with the pod sets that they are of.

    `document`: its essential parts. Raises `Rejected`.
    """
    name = str(mapping(dict(document), "metadata").get("name") or "appwrapper")
    made: list[PodTemplate] = []
    before = 0  # pod sets of earlier components: they are numbered through
    for each in wrapped(document):
        declared = mappings(
            mappings(dict(document), "spec", "components")[each.component], "podSets"
        )
        found = (
            _templates(reader, each)
            if (each.api_version, each.kind) in appwrapper.WITH_PODS
            else []
        )
        if declared:
            number = {pointer_of(one, each.component): at for at, one in enumerate(declared)}
        else:
            number = {one.pointer: at for at, one in enumerate(found)}
        for one in found:
            if one.pointer not in number:
                rule = (
                    f"{each.at}: podSets declares no pods at {one.pointer}, and it has some there"
                )
                raise Rejected(RejectCode.INVALID_VALUE, rule, each.at)
            pod_set = f"{name}-{before + number[one.pointer]}".lower()
            made.append(PodTemplate(one.pointer, pod_set, one.filled))
        if len(number) != len(found):
            rule = (
                f"{each.at}: podSets declares {len(number)} pod templates, and it has {len(found)}"
            )
            raise Rejected(RejectCode.INVALID_VALUE, rule, each.at)
        before += len(number)
    return made


def _templates(reader: KindReader, each: Wrapped) -> list[PodTemplate]:
    """Those of one object, in the order of its pod sets. Raises `Rejected` for what its kind refuses."""
    if (each.api_version, each.kind) == appwrapper.POD:
        return [PodTemplate(each.pointer, "main")]
    definition = reader.catalog.find(kind_name(each.document))
    assert definition is not None
    language = reader.trusted
    language.begin(each.document)
    filled = with_defaults(definition, each.document, language)
    view = ObjectView(as_it_would_run(definition, filled, language), language, reader.syntax)
    for rule in (*definition.extended.refuse, *definition.extended.unmanaged):
        if view.holds(rule.when, "whether it is refused"):
            text = f"{each.at}: {rule.message}"
            raise Rejected(RejectCode.INVALID_VALUE, text, each.at)
    order = [one.name for one in describe(definition, view).pod_sets]
    found = templates_of(definition, each.document, view)
    found.sort(key=lambda one: order.index(one.pod_set))
    return [PodTemplate(each.pointer + one.pointer, one.pod_set, one.filled) for one in found]
