"""The verdict on one manifest: every broken rule, or the error for them."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Final

from shared import labels
from shared.errors import FieldError, Rejected
from shared.podsecurity import asked, baseline, operated, removal, restricted
from shared.podsecurity.pods import Found, Json, mapping
from shared.podsecurity.rules import LEVELS, Level, Rules
from shared.podsecurity.templates import Template, marked_of, templates_of
from shared.reject_codes import RejectCode

MOST_REPORTED: Final = 50
# A pod of these alone breaks no rule but those of restricted: most jobs' pods are such.
_PLAIN_POD: Final = frozenset(
    {
        "containers", "restartPolicy", "nodeSelector", "activeDeadlineSeconds", "overhead",
        "resources", "dnsPolicy", "subdomain",
    }
)  # fmt: skip
_PLAIN_CONTAINER: Final = frozenset(
    {
        "name", "image", "command", "args", "resources", "env", "envFrom", "imagePullPolicy",
        "volumeMounts", "workingDir", "terminationMessagePath", "terminationMessagePolicy",
    }
)  # fmt: skip
_OF_POD: Final = "podSecurityContext"
_PATCH: Final = "podSpecPatch"  # of Argo's workflows and templates


def check_pods(
    manifest: Json,
    namespace: str,
    level: Level,
    rules: Rules,
    fenced: Collection[str] = (),
) -> Found:
    """What the pods of a manifest that goes to `namespace` break of `level` and of `rules`.

    `fenced`: paths, as `Template.path`, of pod templates on which Roadstead has written a job's labels.
    """
    found: Found = []
    if manifest.get("kind") == "Job" and manifest.get("apiVersion") == "batch/v1":
        template = mapping(mapping(manifest.get("spec")).get("template"))
        _check_marks(template, "spec.template", labels.OF_PODS, found)
        job = Template("spec.template", "spec.template.spec", template)
        _check_template(job, namespace, level, rules, found)
        return found
    judged: set[str] = set()
    for each in templates_of(manifest):
        if each.is_part:
            _check_part(each, level, found)
            continue
        judged.add(f"{each.path}.metadata")
        written: frozenset[str] = labels.OF_PODS if each.path in fenced else frozenset()
        _check_marks(each.body, each.path, written, found)
        _check_template(each, namespace, level, rules, found)
    for path, metadata in marked_of(manifest):
        if path.removesuffix(".metadata") not in fenced:
            removal.check_marks(metadata, frozenset(), path, found)
        removal.check_metadata(metadata, path, found)
        judged.add(path)
    operated.check(manifest, namespace, rules, judged, found)
    # A part of a pod spec is judged with the whole and separately.
    return list({(each.field, each.message): each for each in found}.values())[:MOST_REPORTED]


def check_target(namespace: str, rules: Rules) -> Found:
    """True if anything may be placed in a namespace; "" is no namespace, and may."""
    if not namespace or rules.admits(namespace):
        return []
    text = f"nothing is placed in {namespace[:63]}"
    return [FieldError("metadata.namespace", RejectCode.NAMESPACE_NOT_ALLOWED, text)]


def refused(found: Found, namespace: str, level: Level) -> Rejected:
    """The refusal for what was found; its code is that of the first."""
    first = found[0]
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    of_level = first.message.startswith(LEVELS)
    where = f"; namespace {namespace} is {level}" if of_level else ""
    return Rejected(
        first.code, f"{first.field}: {first.message}{where}{more}", first.field, tuple(found)
    )


def _check_marks(template: Json, path: str, written: frozenset[str], found: Found) -> None:
    metadata = mapping(template.get("metadata"))
    if metadata and path:  # of a Pod they are the object's own
        removal.check_marks(metadata, written, f"{path}.metadata", found)


def _check_template(
    template: Template, namespace: str, level: Level, rules: Rules, found: Found
) -> None:
    path, spec, field = template.path, template.spec, template.at
    metadata = mapping(template.body.get("metadata"))
    if metadata and path:  # of a Pod they are the object's own
        removal.check_metadata(metadata, f"{path}.metadata", found)
        removal.check_namespace(metadata, namespace, f"{path}.metadata", found)
    if level != "privileged":
        baseline.check_annotations(metadata, path, found)
    if level != "restricted" and is_plain(spec):
        return
    _check_patch(spec, field, found)
    if level != "privileged":
        baseline.check(spec, field, found)
    if level == "restricted":
        restricted.check(spec, field, found)
    asked.check(spec, namespace, rules, field, found)


def _check_part(part: Template, level: Level, found: Found) -> None:
    """Judge a part of a pod spec: what it sets, by baseline."""
    _check_patch(part.spec, part.at, found)
    if level == "privileged":
        return
    baseline.check(part.spec, part.at, found)
    if isinstance(part.spec.get(_OF_POD), dict):  # of an operator that tells it from a container's
        renamed: Found = []
        baseline.check({"securityContext": part.spec[_OF_POD]}, part.at, renamed)
        found += [
            replace(each, field=each.field.replace("securityContext", _OF_POD, 1))
            for each in renamed
        ]


def _check_patch(spec: Json, field: str, found: Found) -> None:
    if _PATCH in spec:
        text = "an operator merges it into the pods, and no rule can judge it; write the fields themselves"
        found.append(FieldError(f"{field}.{_PATCH}", RejectCode.FORBIDDEN_FIELD, text))


def is_plain(spec: Mapping[str, Any]) -> bool:
    """True if a pod has only fields that no rule below restricted concerns."""
    if not spec.keys() <= _PLAIN_POD:
        return False
    listed = spec.get("containers")
    return isinstance(listed, list) and all(
        isinstance(each, dict) and each.keys() <= _PLAIN_CONTAINER for each in listed
    )
