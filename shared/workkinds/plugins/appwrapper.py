"""Pod sets of an AppWrapper: those that its components declare, else those of what they wrap. Pure.

All are numbered through, `NAME-0`, `NAME-1`, …, as its operator does. A component of a known kind that
declares fewer pods than it runs is refused.
"""

import re
from typing import Final

from shared.errors import Rejected
from shared.reject_codes import RejectCode
from shared.workkinds.plugins.call import Json, PluginCall, mapping, mappings
from shared.workkinds.pod_sets import DescribedPods, pod_set

_STEP: Final = re.compile(r"([A-Za-z0-9_-]+)((?:\[[0-9]+\])*)")
_DEEPEST: Final = 32


def appwrapper(call: PluginCall) -> DescribedPods:
    """The pod sets of all components, in order."""
    obj: Json = dict(call.view.obj)
    name = str(mapping(obj, "metadata").get("name") or "appwrapper")
    made = DescribedPods()
    for index, component in enumerate(mappings(obj, "spec", "components")):
        field = f"spec.components[{index}]"
        template = mapping(component, "template")
        declared = mappings(component, "podSets")
        inferred = _inferred(call, template, is_declared=bool(declared))
        if inferred is not None and not made.priority_class:
            made.priority_class = inferred.priority_class
        if declared:
            _add_declared(made, name, declared, component, field, inferred)
        elif inferred is not None:
            for each in inferred.pod_sets:
                made.add_read(f"{name}-{len(made.pod_sets)}", each)
    if not made.pod_sets:
        raise Rejected(RejectCode.INVALID_VALUE, "none of its components has pods")
    return made


def _inferred(call: PluginCall, template: Json, *, is_declared: bool) -> DescribedPods | None:
    """The pods of what is wrapped. Of a kind without a definition a declaration alone can tell."""
    try:
        return call.describe(template)
    except Rejected as refusal:
        if is_declared and refusal.code == RejectCode.NO_ADAPTER:
            return None
        raise


def _add_declared(
    made: DescribedPods,
    name: str,
    declared: list[Json],
    component: Json,
    field: str,
    inferred: DescribedPods | None,
) -> None:
    total = 0
    for each in declared:
        replicas = each.get("replicas", 1)
        if isinstance(replicas, bool) or not isinstance(replicas, int) or replicas < 0:
            rule = f"{field}.podSets: replicas must be a whole number, 0 or more"
            raise Rejected(RejectCode.INVALID_NUMBER, rule, field)
        total += replicas
        template = _at(dict(component), str(each.get("path") or ""), field)
        read = f"{name}-{len(made.pod_sets)}"
        made.add_read(read, pod_set(read.lower(), replicas, mapping(template, "spec")))
    runs = sum(each.count for each in inferred.pod_sets) if inferred is not None else 0
    if total < runs:
        rule = f"{field} declares {total} pods and runs {runs}"
        raise Rejected(RejectCode.INVALID_VALUE, rule, field)


def pointer_of(declared: Json, index: int) -> str:
    """The JSON pointer of a declared pod template in the AppWrapper; `index`: of its component."""
    steps = [f"spec/components/{index}"]
    for step in str(declared.get("path") or "").split(".")[:_DEEPEST]:
        steps += [part.rstrip("]") for part in step.split("[")]
    return "/" + "/".join(steps)


def _at(component: object, path: str, field: str) -> object:
    """What lies at a path such as `template.spec.tasks[0].template`, which must hold a pod spec."""
    at = component
    for step in path.split(".")[:_DEEPEST]:
        match = _STEP.fullmatch(step)
        at = at.get(match[1]) if match and isinstance(at, dict) else None
        for number in re.findall(r"[0-9]+", match[2]) if match else ():
            at = at[int(number)] if isinstance(at, list) and int(number) < len(at) else None
    if not mappings(at, "spec", "containers"):
        rule = f"{field}.podSets: there is no pod template at {path[:100] or 'an empty path'}"
        raise Rejected(RejectCode.INVALID_VALUE, rule, field)
    return at
