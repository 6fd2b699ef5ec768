"""How an object is held and run by fields of its own, and where its pod templates are. Pure.

Places are JSON pointers. What cannot be held so, or has pods without a template of its own, is refused: its
pods would not carry the marks by which a member proves that none is left.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from shared.errors import Rejected
from shared.reject_codes import RejectCode
from shared.workkinds.components import (
    Instance,
    ObjectView,
    as_it_would_run,
    instances_of,
    with_defaults,
)
from shared.workkinds.definition import Assignment, Definition
from shared.workkinds.language import EvaluationFault, Language, Object, Place, Syntax
from shared.workkinds.pod_sets import pod_set_name

Written = tuple[str, Any]  # JSON pointer, value
_OF_SPEC: Final = ".spec."
WRAPPER: Final = "appwrapper"  # the plug-in


@dataclass(frozen=True, slots=True)
class PodTemplate:
    """A pod template of an object. `filled`: what the operator would write there; None: it is there."""

    pointer: str
    pod_set: str
    filled: Any = None


@dataclass(frozen=True, slots=True)
class HeldForm:
    """`held` and `run` are written to hold an object and to run it; `removed` is for its hub alone.

    `scale`: the one of `run` that multiplies all pods of the object; "" where none does.
    `defaults`: further values for its operator that the object leaves out.
    """

    held: tuple[Written, ...]
    run: tuple[Written, ...]
    templates: tuple[PodTemplate, ...]
    removed: tuple[str, ...]
    scale: str = ""
    defaults: tuple[Written, ...] = ()


def is_held_by_fields(definition: Definition) -> bool:
    """Tell if the definition says how fields of its spec hold it, and a template for all its pods.

    The templates of an AppWrapper are those of the objects in it (`shared.workkinds.wrapped`).
    """
    extended, karta = definition.extended, definition.karta
    pods = [each for each in karta.components if each.has_pods]
    suspends = not extended.holding and bool(karta.suspend and karta.resume)
    return (
        extended.work_class in {"job", "service"}
        and (suspends or extended.scale is not None)
        and all(each.path.startswith(_OF_SPEC) for each in (*karta.suspend, *karta.resume))
        and (extended.plugin == WRAPPER or bool(pods))
        and all(each.template for each in pods)
    )


def held_form(
    definition: Definition,
    document: Object,
    language: Language,
    syntax: Syntax,
    templates: Sequence[PodTemplate] | None = None,
) -> HeldForm:
    """The form of an object that was read before. `templates`: where these are not the definition's own.

    Raises `Rejected`.
    """
    filled = with_defaults(definition, document, language)
    running = as_it_would_run(definition, filled, language)
    view = ObjectView(running, language, syntax)
    managed = definition.extended.managed_by
    removed = [] if managed is None else _places(managed.path, running, language)
    if templates is None:
        templates = templates_of(definition, document, view)
    scale = definition.extended.scale
    suspend, resume = definition.karta.suspend, definition.karta.resume
    if scale is not None:
        suspend, resume = (scale._replace(value="0"),), (scale,)
    run = tuple(_written(resume, running, language))
    return HeldForm(
        held=tuple(_written(suspend, running, language)),
        run=run,
        templates=tuple(templates),
        removed=tuple(map(pointer, removed)),
        scale="" if scale is None else run[0][0],
        defaults=tuple(_defaults(definition, document, view, templates)),
    )


def _defaults(
    definition: Definition, document: Object, view: ObjectView, templates: Sequence[PodTemplate]
) -> Iterator[Written]:
    """Defaults that the object leaves out, and that are in no template which is written anyway."""
    written = [each.pointer for each in templates if each.filled is not None]
    for default in definition.extended.defaults:
        for place in _places(default.path, view.obj, view.language):
            at, value = pointer(place), _at(view.obj, place)
            if value is None or _at(document, place) is not None:
                continue
            if not any(at == each or at.startswith(f"{each}/") for each in written):
                yield at, value


def pointer(place: Place) -> str:
    """A place as a JSON pointer (RFC 6901)."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in place)


def _places(path: str, obj: Object, language: Language) -> list[Place]:
    try:
        return language.places(path, obj)
    except EvaluationFault:
        return []


def _written(actions: Sequence[Assignment], obj: Object, language: Language) -> Iterator[Written]:
    """Where the actions write, and what. Raises `Rejected` for one that writes nothing."""
    for action in actions:
        places = _places(action.path, obj, language)
        try:
            values = language.values(action.value, obj)
        except EvaluationFault:
            values = []
        if not places or not values:
            rule = f"{action.path.removeprefix('.')} cannot be written: the object cannot be held"
            raise Rejected(RejectCode.INVALID_VALUE, rule, action.path.removeprefix("."))
        yield from ((pointer(place), values[0]) for place in places)


def templates_of(definition: Definition, document: Object, view: ObjectView) -> list[PodTemplate]:
    """The pod templates of an object by its definition; `view`: as it would run. Raises `Rejected`."""
    return list(_templates(definition, document, view))


def _templates(
    definition: Definition, document: Object, view: ObjectView
) -> Iterator[PodTemplate]:
    by_component: dict[str, list[Instance]] = {}
    for instance in instances_of(definition, view):
        by_component.setdefault(instance.component.name, []).append(instance)
    for name, instances in by_component.items():
        places = _places(instances[0].component.template, view.obj, view.language)
        if len(places) != len(instances):
            rule = f"{name} has {len(instances)} instances and {len(places)} pod templates"
            raise Rejected(RejectCode.INVALID_VALUE, rule)
        for instance, place in zip(instances, places, strict=True):
            given = _at(document, place)
            yield PodTemplate(
                pointer(place),
                pod_set_name(definition, instance),
                _at(view.obj, place) if given is None else None,
            )


def _at(value: Any, place: Place) -> Any:
    for step in place:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value
