"""Reads objects by their definitions: the outcome, and of managed ones pod sets, priority and holding.

Refusals say why. An object that nobody queues is unmanaged; what a managed object owns is part of it.
"""

import copy
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from shared import labels as keys
from shared.errors import Rejected
from shared.groups import KUEUE
from shared.kinds.problems import unknown_name
from shared.kinds.unheeded import carries_pods
from shared.reject_codes import RejectCode
from shared.workkinds import pod_groups
from shared.workkinds.catalog import KindCatalog
from shared.workkinds.components import ObjectView, as_it_would_run, with_defaults
from shared.workkinds.definition import HUB, Definition, KindName
from shared.workkinds.language import EvaluationFault, Language, Place, StoppedEvaluation, Syntax
from shared.workkinds.objects import GivenObjects, kind_name, name_of, namespace_of
from shared.workkinds.plugins import PLUGINS
from shared.workkinds.plugins.call import NotYet, PluginCall, mapping
from shared.workkinds.pod_sets import DescribedPods, describe
from shared.workkinds.read_object import POD_PRIORITY, WORKLOAD_PRIORITY, ReadObject
from shared.workkinds.states import states_of

Json = Mapping[str, Any]
_MOST_WORKLOADS: Final = 10_000
_DEEPEST: Final = 4  # objects within each other, as in an AppWrapper


@dataclass(frozen=True, slots=True)
class KindReader:
    """Reads objects by the definitions of a catalog; what is not trusted is evaluated in `bounded`."""

    catalog: KindCatalog
    trusted: Language
    bounded: Language
    syntax: Syntax

    def read_all(self, documents: Sequence[Json]) -> Iterator[ReadObject]:
        """Each object in order; a group of pods once, where its first pod stands, by the group's name.

        Training runtimes are left out: they say what TrainJobs run, and are no work themselves.
        """
        given = GivenObjects(documents)
        done: set[tuple[str, str]] = set()
        for document in documents:
            of = kind_name(document)
            if of.kind in {"TrainingRuntime", "ClusterTrainingRuntime"}:
                continue
            group = pod_groups.group_of(document) if of == KindName("", "v1", "Pod") else ""
            if not group:
                yield self.read(document, given)
            elif (place := (namespace_of(document), group)) not in done:
                done.add(place)
                yield self._read_group(given.pods_of(*place), group, given)

    def read(self, document: Json, given: GivenObjects | None = None) -> ReadObject:
        """One object, beside those that are given with it."""
        given = given or GivenObjects([document])
        of = kind_name(document)
        blank = ReadObject(of.kind, namespace_of(document), name_of(document), "unmanaged")
        definition = self.catalog.find(of)
        try:
            if definition is None:
                return self._without_definition(document, of, blank)
            return self._by_definition(document, definition, blank, given)
        except (Rejected, StoppedEvaluation, NotYet) as why:
            return blank.set_aside(why)

    # What there is no definition for

    def _without_definition(self, document: Json, of: KindName, blank: ReadObject) -> ReadObject:
        if of.group == KUEUE and of.kind == "Workload":
            return dataclasses.replace(blank, reason="its own spec.podSets say what it reserves")
        if not queue_of(document):
            return dataclasses.replace(blank, reason="it names no queue")
        shown = str(of)
        versions = self.catalog.versions(of)
        if versions:
            rule = f"{shown} is not read: the definition is of version {', '.join(versions)}"
            raise Rejected(RejectCode.NO_ADAPTER, rule, "apiVersion")
        if carries_pods(mapping(document, "spec")):
            rule = f"{shown} names a queue and has pods, and there is no definition of its kind"
        else:
            rule = f"{shown} names a queue, and there is no definition of its kind"
        raise Rejected(RejectCode.NO_ADAPTER, rule, f"metadata.labels[{keys.QUEUE_NAME}]")

    # What there is one for

    def _by_definition(
        self, document: Json, definition: Definition, blank: ReadObject, given: GivenObjects
    ) -> ReadObject:
        extended = definition.extended
        if extended.work_class == "companion":
            return dataclasses.replace(blank, outcome="companion")
        language = self._language(definition)
        language.begin(document)
        raw = ObjectView(document, language, self.syntax)
        if not self._queue(raw, definition):
            return dataclasses.replace(blank, reason="it names no queue")
        if owner := self._managed_owner(document, given):
            return dataclasses.replace(blank, reason=f"it is part of {owner}")
        for rule in extended.unmanaged:
            if raw.holds(rule.when, "whether it is managed"):
                return dataclasses.replace(blank, reason=rule.message)
        return self._queued(definition, raw, blank, given)

    def _queued(
        self, definition: Definition, raw: ObjectView, blank: ReadObject, given: GivenObjects
    ) -> ReadObject:
        extended, language = definition.extended, raw.language
        _check_known(definition, raw)
        filled = with_defaults(definition, raw.obj, language)
        view = self._view(as_it_would_run(definition, filled, language), language)
        for rule in extended.refuse:
            if view.holds(rule.when, "whether it is refused"):
                raise Rejected(RejectCode.INVALID_VALUE, rule.message)
        base = self._with_priority(blank, raw, definition)
        if extended.work_class == "per-pod":
            held = self._holding(definition, raw)
            return dataclasses.replace(base, outcome="per-pod", suspend_path=held)
        if extended.work_class == "children":
            return dataclasses.replace(
                base, outcome="children", child=self._child(definition, raw)
            )
        described = self._described(definition, view, given, 0)
        if not definition.trusted and definition.karta.resume:
            described = self._larger(definition, described, self._view(filled, language))
        return self._managed(definition, raw, view, base, described)

    def _managed(
        self,
        definition: Definition,
        raw: ObjectView,
        view: ObjectView,
        base: ReadObject,
        described: DescribedPods,
    ) -> ReadObject:
        workloads = _workloads(definition, view)
        if not base.priority_class and described.priority_class:
            base = base.with_priority(described.priority_class, POD_PRIORITY)
        return dataclasses.replace(
            base,
            outcome="managed",
            workloads=workloads,
            pod_sets=tuple(described.pod_sets) if workloads else (),
            suspend_path=self._holding(definition, raw),
            states=states_of(definition, raw.obj, raw.language),
        )

    def _larger(
        self, definition: Definition, described: DescribedPods, as_it_is: ObjectView
    ) -> DescribedPods:
        """Of two readings, resumed and as it is, the larger counts: resuming may write fewer than run."""
        try:
            other = describe(definition, as_it_is)
        except Rejected:
            return described
        counts = {each.name: each.count for each in other.pod_sets}
        described.pod_sets = [
            dataclasses.replace(each, count=max(each.count, counts.get(each.name, 0)))
            for each in described.pod_sets
        ]
        return described

    def _described(
        self, definition: Definition, view: ObjectView, given: GivenObjects, depth: int
    ) -> DescribedPods:
        plugin = PLUGINS.get(definition.extended.plugin)
        if plugin is None:
            return describe(definition, view)

        def within(document: Json) -> DescribedPods | None:
            return self._within(document, given, depth + 1)

        return plugin(PluginCall(view, given.find, within))

    def _within(self, document: Json, given: GivenObjects, depth: int) -> DescribedPods | None:
        """The pods of an object inside another one, all its workloads together."""
        of = kind_name(document)
        definition = self.catalog.find(of)
        if depth > _DEEPEST:
            raise Rejected(
                RejectCode.TOO_DEEP, f"objects stand more than {_DEEPEST} deep in each other"
            )
        if definition is None:
            if carries_pods(mapping(document, "spec")):
                rule = f"it wraps {of}, which has pods, and there is no definition of its kind"
                raise Rejected(RejectCode.NO_ADAPTER, rule)
            return None
        if definition.extended.work_class == "companion":
            return None
        if definition.extended.work_class not in {"job", "service"}:
            rule = f"it wraps {of}, whose pods are not known before it runs"
            raise Rejected(RejectCode.INVALID_VALUE, rule)
        language = self._language(definition)
        language.begin(document)
        _check_known(definition, ObjectView(document, language, self.syntax))
        filled = with_defaults(definition, document, language)
        view = self._view(as_it_would_run(definition, filled, language), language)
        described = self._described(definition, view, given, depth)
        times = _workloads(definition, view)
        described.pod_sets = [
            dataclasses.replace(each, count=each.count * times) for each in described.pod_sets
        ]
        return described

    def _child(self, definition: Definition, raw: ObjectView) -> ReadObject | None:
        """One object of the kind that is the unit of work, as its parent would make it."""
        child = definition.extended.child
        if child is None:
            return None
        template = raw.value(child.path, "the template of its children")
        if not isinstance(template, dict):
            raise Rejected(RejectCode.REQUIRED, f"there is no object at {child.path}")
        made = copy.deepcopy({k: v for k, v in template.items() if k in {"metadata", "spec"}})
        made |= {"apiVersion": child.of.api_version, "kind": child.of.kind}
        metadata = made.get("metadata")
        metadata = made["metadata"] = dict(metadata) if isinstance(metadata, dict) else {}
        metadata |= {"name": name_of(raw.obj), "namespace": namespace_of(raw.obj)}
        queue = self._queue(raw, definition)
        metadata["labels"] = {**mapping(metadata, "labels"), keys.QUEUE_NAME: queue}
        read = self.read(made)
        if read.outcome == "refused":
            raise Rejected(read.code or RejectCode.INVALID_VALUE, f"its children: {read.reason}")
        return read

    def _read_group(self, pods: Sequence[Json], group: str, given: GivenObjects) -> ReadObject:
        """A group of pods, which is one workload of the group's name."""
        first = pods[0]
        alone = copy.deepcopy(dict(first))
        for place in ("labels", "annotations"):
            mapped = mapping(alone, "metadata", place)
            if isinstance(mapped, dict):
                mapped.pop(pod_groups.GROUP, None)
        read = dataclasses.replace(self.read(alone, given), name=group)
        if read.outcome != "managed":
            return read
        try:
            described = pod_groups.describe_group(pods)
        except (Rejected, NotYet) as why:
            return read.set_aside(why)
        return dataclasses.replace(read, pod_sets=tuple(described.pod_sets), states=())

    # Parts

    def _view(self, obj: Json, language: Language) -> ObjectView:
        return ObjectView(obj, language, self.syntax)

    def _language(self, definition: Definition) -> Language:
        return self.trusted if definition.trusted else self.bounded

    def _queue(self, raw: ObjectView, definition: Definition) -> str:
        found = queue_of(raw.obj)
        for path in definition.extended.queue_paths if not found else ():
            value = raw.value(path, "its queue")
            if isinstance(value, str) and value:
                return value
        return found

    def _managed_owner(self, document: Json, given: GivenObjects) -> str:
        """The topmost owner that is managed, by its kind and name; "" where there is none."""
        found = ""
        for owner in given.owners(document):
            of = kind_name(owner)
            definition = self.catalog.find(of)
            if definition is None and of.kind != "ReplicaSet":
                break
            if definition is not None and self._owns_work(owner, definition):
                found = f"{of.kind} {name_of(owner)}"
        return found

    def _owns_work(self, owner: Json, definition: Definition) -> bool:
        if definition.extended.work_class not in {"job", "service"}:
            return False
        language = self._language(definition)
        return bool(self._queue(ObjectView(owner, language, self.syntax), definition))

    def _with_priority(
        self, base: ReadObject, raw: ObjectView, definition: Definition
    ) -> ReadObject:
        label = mapping(raw.obj, "metadata", "labels").get(keys.PRIORITY_CLASS)
        if isinstance(label, str) and label:
            return base.with_priority(label, WORKLOAD_PRIORITY)
        for path, name in named_classes(definition, raw):
            kind = WORKLOAD_PRIORITY if keys.PRIORITY_CLASS in path else POD_PRIORITY
            return base.with_priority(name, kind)
        return base

    def _holding(self, definition: Definition, raw: ObjectView) -> str:
        """Where the object is held: by a path of it, by its pods, or on the hub."""
        if definition.extended.held_by:
            return definition.extended.held_by
        places: list[str] = []
        for action in definition.karta.suspend:
            try:
                found = raw.language.places(action.path, raw.obj)
            except EvaluationFault:
                found = []
            places += [shown_place(place) for place in found] or [action.path.removeprefix(".")]
        return ", ".join(places) or HUB


def named_classes(definition: Definition, raw: ObjectView) -> Iterator[tuple[str, str]]:
    """The priority classes that the kind's own fields name, each with its field."""
    for path in definition.extended.priority_paths:
        for value in raw.values(path, "its priority"):
            if isinstance(value, str) and value:
                yield path.removeprefix("."), value


def queue_of(document: Json) -> str:
    """The queue that an object names, by label or annotation; "" for none."""
    for place in ("labels", "annotations"):
        found = mapping(document, "metadata", place).get(keys.QUEUE_NAME)
        if isinstance(found, str) and found:
            return found
    return ""


def shown_place(place: Place) -> str:
    """A place as people write it: `spec.suspend`, `metadata.annotations[a/b]`, `spec.steps[0].suspend`."""
    shown = ""
    for step in place:
        is_plain = isinstance(step, str) and step.isidentifier()
        shown += (f".{step}" if shown else str(step)) if is_plain else f"[{step}]"
    return shown


def _check_known(definition: Definition, raw: ObjectView) -> None:
    """Maps whose keys are all known: a key that is misspelt would be pods that nobody counts."""
    for each in definition.extended.known:
        for found in raw.values(each.path, each.path):
            for name in found if isinstance(found, dict) else ():
                if name not in each.keys:
                    rule = f"{each.path.removeprefix('.')}: {unknown_name(name, each.keys)}"
                    raise Rejected(RejectCode.UNKNOWN_FIELD, rule)


def _workloads(definition: Definition, view: ObjectView) -> int:
    path = definition.extended.workloads
    if not path:
        return 1
    found = view.value(path, "the number of its workloads")
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found <= _MOST_WORKLOADS:
        rule = f"the number of its workloads must be a whole number, at most {_MOST_WORKLOADS}"
        raise Rejected(RejectCode.INVALID_NUMBER, rule)
    return found
