"""Rules of an object that is read by a definition: each of its pod templates is held to those of a Job's.

One mechanism: `shared.kinds.pod` judges a pod template wherever it stands, and `shared.kinds.batch_v1` the
spec of a Job within a JobSet. Other fields, save those that the definition names, have no schema here:
the API server of the member has the last word.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from shared import labels
from shared.kinds import batch_v1, pod
from shared.kinds.constraints import check_template_annotations
from shared.kinds.containers import check_whole
from shared.kinds.problems import Problems
from shared.reject_codes import RejectCode
from shared.workkinds.definition import Component, Definition
from shared.workkinds.object_names import check_names
from shared.workkinds.places import Spot, plain_path, spots
from shared.workkinds.pod_sets import MOST_POD_SETS

_OF_JOB: Final = ".template.spec.template"  # a JobSet's: the whole spec of a Job is around it
_IN_JOB: Final = (_OF_JOB, ".submitterPodTemplate")  # its operator makes a Job with this template
_COUNTS: Final = ("replicas", "minReplicas", "maxReplicas", "numOfHosts", "size")
_OPTIONAL: Final = ".leaderTemplate"  # of a LeaderWorkerSet: else its leader is one of the workers
_SPARK: Final = "spark"  # the plug-in
_MANAGERS: Final = (labels.JOB_CONTROLLER, labels.MULTIKUEUE_CONTROLLER)
# restartPolicy of a replica, beside its template, as the operators have it.
_REPLICA_POLICIES: Final = {
    "v1": ("Always", "OnFailure", "Never", "ExitCode"),
    "v2beta1": ("OnFailure", "Never"),
}


def check_object(
    definition: Definition,
    document: Mapping[str, Any],
    problems: Problems,
    *,
    from_client: bool,
) -> None:
    """Note every fault of its pod templates, counts and names, with the fields.

    `from_client`: sent by a person, who must not name another manager.
    """
    if not isinstance(document.get("spec"), dict):
        what = "a list or a value" if document.get("spec") is not None else "nothing"
        rule = f"{definition.of.kind} has a spec, an object; here is {what}"
        problems.add("spec", RejectCode.INVALID_TYPE, rule)
        return
    noted = Problems(strict=problems.strict)
    by_component = [
        (each, list(spots(each.template, document, noted))) for each in definition.karta.components
    ]
    if any(_are_too_many(found, problems) for _, found in by_component):
        return
    _check_switches(definition, document, noted, from_client=from_client)
    for component, found in by_component:
        for spot in found:
            _check_counts(spot, noted)
            _check_pods(definition, component, spot, noted, from_client=from_client)
    _check_known(definition, document, noted)
    check_names(definition, document, noted)
    for each in dict.fromkeys(noted.found):  # two paths may lead past one fault
        problems.add(each.field, each.code, each.message)


def _are_too_many(found: Sequence[Spot], problems: Problems) -> bool:
    if len(found) <= MOST_POD_SETS:
        return False
    field = next(at for at, _ in found[0].way if at.endswith("]")).removesuffix("[0]")
    rule = f"has {len(found)} items; at most {MOST_POD_SETS} are allowed, a pod set for each"
    problems.add(field, RejectCode.TOO_MANY_ITEMS, rule)
    return True


def _check_switches(
    definition: Definition, document: Mapping[str, Any], problems: Problems, *, from_client: bool
) -> None:
    """The fields that hold an object, and that name its manager."""
    for action in definition.karta.suspend:
        for spot in spots(action.path, document, problems):
            if not isinstance(spot.value, bool | None):
                problems.add(spot.field, RejectCode.INVALID_TYPE, "must be true or false")
    managed = definition.extended.managed_by
    if managed is None or not from_client:
        return
    own = managed.value.strip('"')
    for spot in spots(managed.path, document, problems):
        if spot.value not in (None, own, *_MANAGERS):
            rule = "is set by Roadstead, which has it run; leave it out"
            problems.add(spot.field, RejectCode.FORBIDDEN_FIELD, rule)


def _check_known(definition: Definition, document: Mapping[str, Any], problems: Problems) -> None:
    """Roles that the definition does not know, with the nearest that it does."""
    for known in definition.extended.known:
        for spot in spots(known.path, document, problems):
            if isinstance(spot.value, dict):
                problems.unknown(spot.value, frozenset(known.keys), spot.field)


def _check_counts(spot: Spot, problems: Problems) -> None:
    for at, holder in spot.way:
        for name in _COUNTS:
            if name in holder:
                check_whole(holder[name], f"{at}.{name}", problems)


def _check_pods(
    definition: Definition,
    component: Component,
    spot: Spot,
    problems: Problems,
    *,
    from_client: bool,
) -> None:
    path = plain_path(component.template)
    if spot.value is None and (
        path.endswith(_OPTIONAL) or any(each.path == path for each in definition.extended.defaults)
    ):
        return  # its operator writes one, or none is needed
    in_job = path.endswith(_IN_JOB)
    if path.endswith(_OF_JOB):
        _check_job(spot, problems, from_client=from_client)
        template = _as_jobset_has_it(spot.value)
    elif definition.extended.plugin == _SPARK:
        template = _as_spark_has_it(spot.value)
    else:
        template = spot.value
    pod.check_template(template, spot.field, problems, of_job=in_job)
    if not in_job:
        _check_marks(spot, problems)
        _check_replica(definition, spot, problems)


def _as_jobset_has_it(template: Any) -> Any:
    """With the restartPolicy that JobSet's webhook writes where there is none."""
    spec = template.get("spec") if isinstance(template, dict) else None
    if not isinstance(spec, dict) or spec.get("restartPolicy"):
        return template
    return {**template, "spec": {**spec, "restartPolicy": "OnFailure"}}


def _as_spark_has_it(template: Any) -> Any:
    """With the image that Spark writes into the first container, and a name for it."""
    spec = template.get("spec") if isinstance(template, dict) else None
    if not isinstance(spec, dict) or not isinstance(containers := spec.get("containers"), list):
        return template
    if not containers or not isinstance(containers[0], dict):
        return template
    first = {"name": "spark", "image": "spark", **containers[0]}
    return {**template, "spec": {**spec, "containers": [first, *containers[1:]]}}


def _check_job(spot: Spot, problems: Problems, *, from_client: bool) -> None:
    """The spec of a Job around the template. Its API server says 1 where it has neither count."""
    counts = {"parallelism": 1, "completions": 1}
    given = any(spot.owner.get(name) is not None for name in counts)
    spec = spot.owner if given else {**spot.owner, **counts}
    found = Problems(strict=problems.strict)
    batch_v1.check_job_spec(spec, found, from_client=from_client)
    for each in found.found:
        problems.add(spot.at + each.field.removeprefix("spec"), each.code, each.message)


def _check_marks(spot: Spot, problems: Problems) -> None:
    metadata = spot.value.get("metadata") if isinstance(spot.value, dict) else None
    asked = metadata.get("annotations") if isinstance(metadata, dict) else None
    if isinstance(asked, dict):
        check_template_annotations(asked, f"{spot.field}.metadata.annotations", problems)


def _check_replica(definition: Definition, spot: Spot, problems: Problems) -> None:
    if definition.of.group != "kubeflow.org":
        return
    allowed = _REPLICA_POLICIES[definition.of.version]
    if spot.owner.get("restartPolicy") not in (None, "", *allowed):
        rule = f"must be {', '.join(allowed[:-1])} or {allowed[-1]}"
        problems.add(f"{spot.at}.restartPolicy", RejectCode.INVALID_RESTART_POLICY, rule)
