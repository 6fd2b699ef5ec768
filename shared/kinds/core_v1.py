"""Namespace, ConfigMap, Secret, and every kind that is not modelled: something to propagate.

Of these only what all objects share is checked, and for ConfigMap and Secret that their data is
text; the member's API server has the last word.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

from shared.kinds import names
from shared.kinds.dispatched import is_work
from shared.kinds.kind import content_of
from shared.kinds.metadata import (
    LABEL_NAME,
    SEGMENT_NAME,
    SUBDOMAIN_NAME,
    NameRule,
    read_metadata,
)
from shared.kinds.parsed import Parsed
from shared.kinds.problems import Problems, is_mapping, join
from shared.kinds.scopes import is_cluster_scoped, is_namespaced
from shared.reject_codes import RejectCode

_FIELDS: Final = {
    ("", "Namespace"): frozenset({"spec"}),
    ("", "ConfigMap"): frozenset({"data", "binaryData", "immutable"}),
    ("", "Secret"): frozenset({"data", "stringData", "type", "immutable"}),
}


def parse_other(
    manifest: dict[str, Any],
    group: str,
    version: str,
    kind: str,
    *,
    strict: bool,
    from_client: bool,
    default_namespace: str,
) -> Parsed:
    """Read a manifest of a kind that is not modelled; raises `Rejected` with every fault found."""
    problems = Problems(strict=strict)
    metadata = read_metadata(
        manifest, problems, name_rule=_name_rule(group, kind), from_client=from_client,
        may_generate=bool(group) or kind == "Pod", may_have_status=not is_work(manifest),
    )  # fmt: skip
    content = content_of(manifest)
    known = _FIELDS.get((group, kind))
    if known is not None:
        problems.unknown(content, known, "")
    if group == "" and kind in {"ConfigMap", "Secret"}:
        _check_data(content, kind, problems)
    problems.raise_if_any()
    namespace = metadata.namespace
    if is_cluster_scoped(group, kind):
        namespace = ""  # as kubectl does
    elif not namespace and is_namespaced(group, kind):
        namespace = default_namespace
    return Parsed(
        kind, group, version, namespace, metadata.name, metadata.labels, metadata.annotations,
        content, manifest, metadata.generate_name,
    )  # fmt: skip


def _name_rule(group: str, kind: str) -> NameRule:
    if group == "rbac.authorization.k8s.io":
        return SEGMENT_NAME
    return LABEL_NAME if (group, kind) in {("", "Namespace"), ("", "Service")} else SUBDOMAIN_NAME


def _check_data(content: Mapping[str, Any], kind: str, problems: Problems) -> None:
    encoded = "binaryData" if kind == "ConfigMap" else "data"
    plain = "data" if kind == "ConfigMap" else "stringData"
    for field in (encoded, plain):
        data = content.get(field)
        if data is None or not is_mapping(data, field, problems):
            continue
        for key, value in data.items():
            if not names.is_data_key(key):
                rule = (
                    "a key consists of letters, digits, '-', '_' and '.', at most 253, and is not '.' "
                    "nor begins with '..'"
                )
                problems.add(join(field, key), RejectCode.INVALID_NAME, rule)
            elif value is None:
                continue  # an API server reads null as ""
            elif not isinstance(value, str):
                rule = "must be a string; put it in quotes"
                problems.add(join(field, key), RejectCode.INVALID_TYPE, rule)
            elif field == encoded and not _is_base64(value):
                problems.add(join(field, key), RejectCode.INVALID_VALUE, "must be base64")


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        return False
    return True
