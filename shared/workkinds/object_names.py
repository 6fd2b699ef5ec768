"""Names that an operator makes of those in an object: none may be too long, or of other characters. Pure.

The rules are those of the operators' webhooks (JobSet's `validateCreate`, the training operator's and
KubeRay's validation), which would refuse the object, or its pods, in the member.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from shared.kinds import names
from shared.kinds.problems import Problems
from shared.quantity import shown
from shared.reject_codes import RejectCode
from shared.workkinds.definition import Component, Definition
from shared.workkinds.places import Spot, spots

_LABEL_1035: Final = re.compile(r"[a-z](?:[-a-z0-9]*[a-z0-9])?")
_RULE_1035: Final = (
    "must begin with a lower-case letter, consist of lower-case letters, digits and '-', and end with a "
    "letter or digit"
)
_LONGEST: Final = 63
# With what their operators append, Services of KubeRay have names of 63 characters, and the label
# controller-revision-hash of a StatefulSet's pods has as many.
_LONGEST_OF: Final = {"RayCluster": 53, "RayJob": 47, "RayService": 47, "LeaderWorkerSet": 48}
_GENERATED: Final = "xxxxx"  # as many characters as are appended to generateName


def check_names(definition: Definition, document: Mapping[str, Any], problems: Problems) -> None:
    """Note the names at fault: the object's own, those of its parts, and those of its children."""
    metadata = document.get("metadata")
    given = metadata if isinstance(metadata, dict) else {}
    prefix = given.get("generateName")
    name = given.get("name") or (f"{prefix}{_GENERATED}" if isinstance(prefix, str) else "")
    _check_own(definition, name, problems)
    for component in definition.karta.components:
        if component.instance_id:
            _check_parts(definition, component, name, document, problems)
        elif definition.of.group == "kubeflow.org" and component.template:
            _check_replicas(component, name, document, problems)


def _check_own(definition: Definition, name: object, problems: Problems) -> None:
    if not isinstance(name, str) or not name:
        return  # refused with the metadata
    most = _LONGEST_OF.get(definition.of.kind, _LONGEST)
    if len(name) > most or not _LABEL_1035.fullmatch(name):
        rule = f"{shown(name)}: {_RULE_1035}; at most {most} characters"
        problems.add("metadata.name", RejectCode.INVALID_NAME, rule)


def _check_parts(
    definition: Definition,
    component: Component,
    name: object,
    document: Mapping[str, Any],
    problems: Problems,
) -> None:
    """The named parts: replicated jobs, groups of workers."""
    seen: set[str] = set()
    for spot in spots(component.instance_id, document, problems):
        part = spot.value
        if part is None or part == "":
            problems.add(spot.field, RejectCode.REQUIRED, f"every {component.name} has a name")
        elif not _is_part(part, definition):
            problems.add(spot.field, RejectCode.INVALID_NAME, f"{shown(part)}: {names.LABEL_RULE}")
        elif part.lower() in seen:
            rule = f"a second {component.name} is called {part.lower()}"
            problems.add(spot.field, RejectCode.DUPLICATE, rule)
        elif definition.of.kind == "JobSet" and isinstance(name, str):
            _check_length(_longest_of_jobset(name, part, spot), spot.field, problems)
        if isinstance(part, str):
            seen.add(part.lower())


def _is_part(part: object, definition: Definition) -> bool:
    """KubeRay writes names in lower case; JobSet takes them as they are."""
    if not isinstance(part, str):
        return False
    return names.is_dns_label(part if definition.of.kind == "JobSet" else part.lower())


def _longest_of_jobset(name: str, part: str, spot: Spot) -> str:
    """The longest name of a Job or a pod of a replicated job: pods of Indexed Jobs have five more letters."""
    job = f"{name}-{part}-{_last(spot.owner.get('replicas'))}"
    template = spot.owner.get("template")
    spec = template.get("spec") if isinstance(template, dict) else None
    counts = spec if isinstance(spec, dict) else {}
    if counts.get("completions") is None or counts.get("completionMode") == "NonIndexed":
        return job
    return f"{job}-{_last(counts['completions'])}-{_GENERATED}"


def _check_replicas(
    component: Component, name: object, document: Mapping[str, Any], problems: Problems
) -> None:
    """Pods of a role have their number in their names, and Services of the same names stand before them."""
    for spot in spots(component.template, document, problems):
        if isinstance(name, str) and 0 < len(name) <= _LONGEST:
            longest = f"{name}-{component.name}-{_last(spot.owner.get('replicas'))}"
            _check_length(longest, "metadata.name", problems)


def _check_length(made: str, field: str, problems: Problems) -> None:
    if len(made) > _LONGEST:
        rule = (
            f"its operator would make {shown(made)} of it, which has {len(made)} characters: "
            f"at most {_LONGEST} are allowed; choose a shorter name"
        )
        problems.add(field, RejectCode.INVALID_NAME, rule)


def _last(count: object) -> int:
    """The index of the last one; 0 without a count."""
    return max(count - 1, 0) if isinstance(count, int) else 0
