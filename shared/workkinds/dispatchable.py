"""Finds what a definition lacks before the hub can give objects of its kind to members. Pure.

A job runs once because its object can be made held, proved held, and seen to have ended: a definition that
does not say how is good for reading alone.
"""

from collections.abc import Iterator
from typing import Final

from shared.kinds.dispatched import DISPATCHED
from shared.kinds.registry import KNOWN
from shared.workkinds.definition import Assignment, Definition, KindName
from shared.workkinds.places import plain_path

_ENDS: Final = ("completed", "failed")
_ROOT: Final = ".structureDefinition.rootComponent"
# Kinds that hub and agents know by the name alone: the work that the hub queues, its own kinds, the workloads
# of Kubernetes, and the objects that it prepares for members.
_KUBERNETES: Final = (
    *(
        "Job",
        "CronJob",
        "Pod",
        "PodTemplate",
        "Deployment",
        "StatefulSet",
        "ReplicaSet",
        "DaemonSet",
    ),
    *("ReplicationController", "Namespace", "Secret", "Service", "ServiceAccount"),
    "PersistentVolumeClaim",
)
_TAKEN: Final = {
    name.casefold(): name
    for name in (*_KUBERNETES, *(kind for _, kind in KNOWN), *(kind for _, kind in DISPATCHED))
}


def taken_name(of: KindName) -> str:
    """Why administrators may not define a kind of this name; "" if they may.

    Hub and agents know a Job by the name of its kind: an absent `Job` of another group would prove that a Job
    is absent, which then started twice.
    """
    name = _TAKEN.get(of.kind.casefold())
    if name is None:
        return ""
    return (
        f"{name} is a kind that Roadstead or Kubernetes has, and {of} would be taken for it: define a kind "
        "of another name; objects of this one go to members by placements, without a queue"
    )


def lacking(definition: Definition) -> list[str]:
    """One sentence for each thing that is missing, with what to add; none: it can be dispatched."""
    return [
        *_of_name(definition),
        *_of_class(definition),
        *_of_hold(definition),
        *_of_pods(definition),
        *_of_end(definition),
    ]


def _of_name(definition: Definition) -> Iterator[str]:
    """An earlier hub may have kept such a definition; `roadstead kinds check` reads any."""
    if not definition.trusted and (why := taken_name(definition.of)):
        yield f"spec{_ROOT}.kind: {why}"


def _of_class(definition: Definition) -> Iterator[str]:
    extended = definition.extended
    if extended.work_class != "job":
        yield (
            f"spec.class of its extension is {extended.work_class}, and only jobs, which end, are dispatched "
            "by administrators' definitions"
        )
    if extended.holding:
        yield (
            f"spec.holding of its extension is {extended.holding}: leave it out, and write the field that "
            f"holds an object into spec{_ROOT}.suspendDefinition of the Karta"
        )
    if extended.workloads:
        yield "spec.workloads of its extension makes several workloads of an object: leave it out"


def _of_hold(definition: Definition) -> Iterator[str]:
    karta, at = definition.karta, f"spec{_ROOT}.suspendDefinition"
    for name, actions in (("suspendActions", karta.suspend), ("resumeActions", karta.resume)):
        if not actions:
            yield (
                f"{at}.{name} is missing: an object must be held by a field of its spec until it has quota; "
                "add the path and the value"
            )
        for each in actions:
            if not _is_of_spec(each):
                yield (
                    f"{at}.{name}: {each.path} is no plain path below .spec, so that no member can prove "
                    "that the object is held"
                )
    if not (karta.suspend and karta.resume):
        return
    held, run = (
        {each.path: each.value for each in actions} for actions in (karta.suspend, karta.resume)
    )
    if held.keys() != run.keys() or any(held[path] == run[path] for path in held):
        yield (
            f"{at}: suspendActions and resumeActions must write different values at the same paths, so that "
            "a held object differs from one that runs"
        )


def _is_of_spec(action: Assignment) -> bool:
    plain = plain_path(action.path) == action.path and "[" not in action.path
    return plain and action.path.startswith(".spec.")


def _of_pods(definition: Definition) -> Iterator[str]:
    components = definition.karta.components
    if not any(each.has_pods for each in components):
        yield "no component has pods: give one a specDefinition.podTemplateSpecPath"
    for each in components:
        if each.has_pods and not plain_path(each.template):
            yield (
                f"component {each.name} has no podTemplateSpecPath that is a plain path: the hub marks each "
                "pod by its template, and agents prove by the marks that no pod is left"
            )


def _of_end(definition: Definition) -> Iterator[str]:
    missing = [each for each in _ENDS if not definition.karta.status.mappings.get(each)]
    if missing:
        yield (
            f"spec{_ROOT}.statusDefinition.statusMappings has no {' and no '.join(missing)}: without it the "
            "end of an object is never known, and its quota never free"
        )
