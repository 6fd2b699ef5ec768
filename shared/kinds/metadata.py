"""Rules of `metadata` that hold for every kind, and the record it is read into."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field as dataclass_field
from typing import Any, Final

from shared import labels as keys
from shared.kinds import names
from shared.kinds.problems import Problems, is_mapping
from shared.kinds.selectors import TOO_LARGE, are_labels_too_large, check_labels
from shared.kinds.user_annotations import check_user_annotation
from shared.quantity import shown
from shared.reject_codes import RejectCode

ANNOTATION_BYTES: Final = 256 * 1024

_USUAL: Final = frozenset({"name", "namespace", "labels", "annotations"})
# Who writes these is a server, never a client that submits; empty values are what tools emit.
_SERVER_OWNED: Final = frozenset(
    {
        "uid",
        "resourceVersion",
        "ownerReferences",
        "finalizers",
        "managedFields",
        "generation",
        "selfLink",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    }
)
METADATA_FIELDS: Final = _USUAL | _SERVER_OWNED | {"generateName", "creationTimestamp"}


@dataclass(frozen=True, slots=True)
class Metadata:
    """The stored part of `metadata`; `namespace` is empty for what is cluster-scoped."""

    namespace: str = ""
    name: str = ""
    generate_name: str = ""
    labels: Mapping[str, str] = dataclass_field(default_factory=dict)
    annotations: Mapping[str, str] = dataclass_field(default_factory=dict)


NameRule = tuple[Callable[[object], bool], str]
LABEL_NAME: Final[NameRule] = (names.is_dns_label, names.LABEL_RULE)
SUBDOMAIN_NAME: Final[NameRule] = (names.is_dns_subdomain, names.SUBDOMAIN_RULE)
SEGMENT_NAME: Final[NameRule] = (names.is_path_segment, "must not hold '/' or '%'; at most 253")


def read_metadata(
    manifest: Mapping[str, Any],
    problems: Problems,
    *,
    name_rule: NameRule,
    from_client: bool,
    may_generate: bool = False,
    may_have_status: bool = True,
) -> Metadata:
    """Check `metadata` and read it. `from_client` refuses what only servers set.

    A status is refused too unless `may_have_status`: then it is dropped, as an API server does.
    """
    raw = manifest.get("metadata")
    if not is_mapping(raw, "metadata", problems):
        if raw is None:
            problems.add("metadata.name", RejectCode.REQUIRED, "every object has a name")
        return Metadata()
    metadata: Mapping[str, Any] = raw if isinstance(raw, dict) else {}
    if not metadata.keys() <= _USUAL:
        problems.unknown(metadata, METADATA_FIELDS, "metadata")
        if from_client:
            _refuse_server_owned(metadata, problems)
    if from_client and not may_have_status and manifest.get("status"):
        problems.add(
            "status", RejectCode.FORBIDDEN_FIELD, "is written by Roadstead, not by clients"
        )
    name, generate_name = _read_name(metadata, problems, name_rule, may_generate=may_generate)
    namespace = metadata.get("namespace")
    namespace = "" if namespace is None else namespace
    if namespace != "" and not names.is_dns_label(namespace):
        problems.add("metadata.namespace", RejectCode.INVALID_NAME, names.LABEL_RULE)
    return Metadata(
        namespace,
        name,
        generate_name,
        read_labels(metadata, problems, "metadata"),
        read_annotations(metadata, problems, "metadata", from_client=from_client),
    )


def controllers_of(metadata: Mapping[str, Any]) -> list[Any]:
    """Those of `ownerReferences` that say `controller`: who makes this object, and makes it anew."""
    owners = metadata.get("ownerReferences") or ()
    return [each for each in owners if isinstance(each, dict) and each.get("controller")]


def _read_name(
    metadata: Mapping[str, Any], problems: Problems, rule: NameRule, *, may_generate: bool
) -> tuple[str, str]:
    name = metadata.get("name")
    generate_name = metadata.get("generateName") or ""
    fits, sentence = rule
    if name is not None and name != "":
        if not fits(name):
            problems.add("metadata.name", RejectCode.INVALID_NAME, f"{shown(name)}: {sentence}")
            name = ""
    elif not generate_name:
        problems.add("metadata.name", RejectCode.REQUIRED, "every object has a name")
    elif not may_generate:
        problems.add(
            "metadata.generateName",
            RejectCode.FORBIDDEN_FIELD,
            "give a name: this is a declaration",
        )
    elif not isinstance(generate_name, str) or not fits(generate_name.rstrip("-.")[:57] or "-"):
        problems.add(
            "metadata.generateName", RejectCode.INVALID_NAME, f"{shown(generate_name)}: {sentence}"
        )
    return name or "", generate_name if isinstance(generate_name, str) else ""


def _refuse_server_owned(metadata: Mapping[str, Any], problems: Problems) -> None:
    for name in sorted(_SERVER_OWNED & metadata.keys()):
        if metadata[name]:
            rule = "is set by servers; leave it out"
            problems.add(f"metadata.{name}", RejectCode.FORBIDDEN_FIELD, rule)


def read_labels(metadata: Mapping[str, Any], problems: Problems, field: str) -> dict[str, str]:
    """Check `labels`, of an object or of a pod template; ours are reserved."""
    labels = metadata.get("labels")
    path = f"{field}.labels"
    if not labels or not is_mapping(labels, path, problems):
        return {}
    if are_labels_too_large(labels):
        problems.add(path, RejectCode.LABELS_TOO_LARGE, TOO_LARGE)
        return {}
    check_labels(labels, path, problems)
    for key in labels:
        if key.startswith(keys.PREFIX):
            problems.add(
                f"{path}[{key}]",
                RejectCode.RESERVED_LABEL,
                f"labels with the prefix {keys.PREFIX} are Roadstead's own; {_USER_LIST}",
            )
    return dict(labels)


def read_annotations(
    metadata: Mapping[str, Any], problems: Problems, field: str, *, from_client: bool = True
) -> dict[str, str]:
    """Check `annotations`: text only, bounded in total, and of ours only those for users.

    Not `from_client`: what a hub cluster's policies write is theirs to write.
    """
    known = keys.USER_ANNOTATIONS if from_client else keys.HUB_CLUSTER_ANNOTATIONS
    annotations = metadata.get("annotations")
    path = f"{field}.annotations"
    if not annotations or not is_mapping(annotations, path, problems):
        return {}
    size = sum(_size(key) + _size(value) for key, value in annotations.items())
    if size > ANNOTATION_BYTES:  # before the rules of each key, which cost more
        rule = f"hold {size} bytes; at most {ANNOTATION_BYTES} in total"
        problems.add(path, RejectCode.ANNOTATIONS_TOO_LARGE, rule)
        return {}
    for key, value in annotations.items():
        if not isinstance(value, str):
            problems.add(
                f"{path}[{key[:80]}]", RejectCode.INVALID_ANNOTATION, "the value must be a string"
            )
        elif not names.is_qualified_name(key.lower()):
            problems.add(path, RejectCode.INVALID_ANNOTATION, f"{shown(key)} is no annotation key")
        elif key.startswith(keys.PREFIX) and key not in known:
            rule = f"with the prefix {keys.PREFIX}, {_USER_LIST}"
            problems.add(f"{path}[{key}]", RejectCode.UNKNOWN_ANNOTATION, rule)
        elif key.startswith(keys.PREFIX):
            check_user_annotation(key, value, path, problems)
    return dict(annotations)


_USER_LIST: Final = "users may set the annotations " + ", ".join(sorted(keys.USER_ANNOTATIONS))


def _size(text: object) -> int:
    if not isinstance(text, str):
        return 0
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
