"""Applies overrides to one object for one cluster: KubeFleet's rules, JSON Patch, variables. Pure.

Every rule that selects the cluster counts, in order; those of cluster overrides come first, so that what a
namespace says wins. Variables stand in values: `${MEMBER-CLUSTER-NAME}`, `${MEMBER-CLUSTER-LABEL-KEY-<key>}`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import jsonpatch
import jsonpointer
import orjson

from hub.domain.placement.overrides import CLUSTER_OVERRIDE, Override
from shared.documents import Json, JsonView
from shared.nesting import MAX_DEPTH, is_deeper_than
from shared.selectors import read_selector

_VARIABLE: Final = re.compile(r"\$\{MEMBER-CLUSTER-(NAME|LABEL-KEY-([^}]{1,400}))\}")
_KEPT: Final = ("apiVersion", "kind")
_NAMES: Final = ("name", "namespace")


class OverrideFailed(Exception):
    """An override can not be carried out; the text names it and says why."""


def in_order(overrides: Iterable[Override]) -> list[Override]:
    """Of the whole cluster first, by name."""
    return sorted(overrides, key=lambda o: (o.kind != CLUSTER_OVERRIDE, o.namespace, o.name))


def rules_for(override: Override, labels: Mapping[str, str]) -> list[JsonView]:
    """Its rules that select a cluster with these labels: none without a selector, all with an empty one."""
    rules = (override.spec.get("policy") or {}).get("overrideRules") or ()
    return [rule for rule in rules if _selects(rule.get("clusterSelector"), labels)]


def overridden(
    manifest: JsonView, overrides: Sequence[Override], cluster: str, labels: Mapping[str, str]
) -> Json | None:
    """The object as the cluster gets it; None where it gets none of it. Raises OverrideFailed.

    `overrides`: those that name the object, `in_order`. The result is always an object that can be sent.
    """
    try:
        return _made(manifest, overrides, cluster, labels)
    except (
        OverrideFailed,
        RecursionError,
        TypeError,
        ValueError,
        KeyError,
        AttributeError,
    ) as fault:
        if isinstance(fault, OverrideFailed):
            raise
        raise OverrideFailed(f"overrides make what can not be written: {_words(fault)}") from fault


def _made(
    manifest: JsonView, overrides: Sequence[Override], cluster: str, labels: Mapping[str, str]
) -> Json | None:
    made: Json = orjson.loads(orjson.dumps(manifest))
    for override in overrides:
        for rule in rules_for(override, labels):
            if rule.get("overrideType") == "Delete":
                return None
            made = _patched(made, rule, override, cluster, labels)
    before, after = manifest.get("metadata") or {}, made.get("metadata")
    kept = isinstance(after, dict) and all(after.get(n) == before.get(n) for n in _NAMES)
    if not kept or any(made.get(name) != manifest.get(name) for name in _KEPT):
        raise OverrideFailed("overrides changed what the object is: its kind, name or namespace")
    for part in ("labels", "annotations"):
        if not _is_texts((made["metadata"]).get(part)):
            raise OverrideFailed(f"overrides make metadata.{part} what is not text by text")
    if is_deeper_than(made, MAX_DEPTH):
        raise OverrideFailed(f"overrides nest it more than {MAX_DEPTH} deep")
    orjson.dumps(made)
    return made


def _is_texts(value: object) -> bool:
    """Labels or annotations, or none."""
    if value is None:
        return True
    return isinstance(value, dict) and all(
        isinstance(each, str) for pair in value.items() for each in pair
    )


def _words(fault: BaseException) -> str:
    return (" ".join(str(fault).split()) or type(fault).__name__)[:200]


def _selects(selector: JsonView | None, labels: Mapping[str, str]) -> bool:
    if selector is None:
        return False
    terms = selector.get("clusterSelectorTerms") or ()
    if not terms:
        return True
    found = [read_selector(term.get("labelSelector")) for term in terms]
    return any(each is None or each.matches(labels) for each in found)


def _patched(
    manifest: Json, rule: JsonView, override: Override, cluster: str, labels: Mapping[str, str]
) -> Json:
    for patch in rule.get("jsonPatchOverrides") or ():
        step = {"op": patch["op"], "path": patch["path"]}
        if patch["op"] != "remove":
            step["value"] = _filled(patch.get("value"), override, cluster, labels)
        try:
            manifest = jsonpatch.apply_patch(manifest, [step])
        except (
            jsonpatch.JsonPatchException,
            jsonpointer.JsonPointerException,
            TypeError,
            KeyError,
        ) as fault:
            text = (
                f"{override.named}: {patch['op']} {patch['path']} can not be done: {_words(fault)}"
            )
            raise OverrideFailed(text) from fault
        if not isinstance(manifest, dict):
            raise OverrideFailed(f"{override.named}: {patch['path']} leaves no object")
    return manifest


def _filled(value: object, override: Override, cluster: str, labels: Mapping[str, str]) -> object:
    """A value with the cluster's name and labels in the place of variables."""
    if isinstance(value, str):
        return _VARIABLE.sub(lambda found: _meant(found, override, cluster, labels), value)
    if isinstance(value, list):
        return [_filled(each, override, cluster, labels) for each in value]
    if isinstance(value, dict):
        return {key: _filled(each, override, cluster, labels) for key, each in value.items()}
    return value


def _meant(
    found: re.Match[str], override: Override, cluster: str, labels: Mapping[str, str]
) -> str:
    key = found[2]
    if key is None:
        return cluster
    if key not in labels:
        raise OverrideFailed(f"{override.named}: cluster {cluster} has no label {key}")
    return labels[key]
