"""What overrides make of an object for one cluster."""

from typing import Any

import pytest

from hub.domain.placement.overrides import Override
from hub.domain.rollout.overriding import OverrideFailed, in_order, overridden, rules_for

CONFIG = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "c", "namespace": "shop", "labels": {"tier": "web"}},
    "data": {"color": "blue", "old": "x"},
}
EAST = {"region": "east"}
EVERY: dict[str, Any] = {"clusterSelectorTerms": []}


def patch(op: str, path: str, value: Any = None) -> dict[str, Any]:
    return {"op": op, "path": path, **({} if op == "remove" else {"value": value})}


def rule(*patches: Any, selector: Any = EVERY) -> dict[str, Any]:
    return {
        "clusterSelector": selector,
        "overrideType": "JSONPatch",
        "jsonPatchOverrides": [*patches],
    }


def of(*rules: Any, kind: str = "ResourceOverride", name: str = "o") -> Override:
    namespace = "shop" if kind == "ResourceOverride" else ""
    return Override(kind, namespace, name, {"policy": {"overrideRules": [*rules]}})


def made(*overrides: Override, labels: Any = EAST) -> Any:
    return overridden(CONFIG, in_order(overrides), "m1", labels)


def test_patches_are_applied_in_order():
    """Add, replace and remove; what they do not name stays, and the hub's own object is as it was."""
    done = made(
        of(
            rule(
                patch("add", "/data/new", "1"),
                patch("replace", "/data/new", "2"),
                patch("remove", "/data/old"),
                patch("add", "/metadata/labels/roadstead~1x", "y"),
            )
        )
    )
    assert done["data"] == {"color": "blue", "new": "2"}
    assert done["metadata"]["labels"] == {"tier": "web", "roadstead/x": "y"}
    assert CONFIG["data"] == {"color": "blue", "old": "x"}


@pytest.mark.parametrize(
    ("selector", "selects"),
    [
        (None, False),
        (EVERY, True),
        ({"clusterSelectorTerms": [{"labelSelector": {"matchLabels": {"region": "east"}}}]}, True),
        (
            {"clusterSelectorTerms": [{"labelSelector": {"matchLabels": {"region": "west"}}}]},
            False,
        ),
        (
            {
                "clusterSelectorTerms": [
                    {"labelSelector": {"matchLabels": {"region": "west"}}},
                    {
                        "labelSelector": {
                            "matchExpressions": [{"key": "region", "operator": "Exists"}]
                        }
                    },
                ]
            },
            True,
        ),
    ],
)
def test_a_rule_selects_clusters(selector: Any, selects: bool) -> None:
    """Without a selector none, with an empty one all; terms are ORed."""
    given = of(rule(patch("replace", "/data/color", "red"), selector=selector))
    assert bool(rules_for(given, EAST)) == selects
    assert made(given)["data"]["color"] == ("red" if selects else "blue")


def test_what_a_namespace_says_wins():
    """Overrides of the whole cluster come first, whatever they are called."""
    whole = of(
        rule(patch("replace", "/data/color", "red")), kind="ClusterResourceOverride", name="z"
    )
    own = of(rule(patch("replace", "/data/color", "green")), name="a")
    assert made(own, whole)["data"]["color"] == "green"


def test_a_delete_rule_leaves_the_object_out():
    """For the clusters it selects."""
    assert made(of({"clusterSelector": EVERY, "overrideType": "Delete"})) is None


def test_variables_are_the_clusters():
    """Its name and its labels, anywhere in a value, more than once."""
    text = "${MEMBER-CLUSTER-NAME}.${MEMBER-CLUSTER-LABEL-KEY-region}/${MEMBER-CLUSTER-NAME}"
    done = made(of(rule(patch("add", "/data/deep", {"list": [text, 1, None]}))))
    assert done["data"]["deep"] == {"list": ["m1.east/m1", 1, None]}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            patch("replace", "/data/missing/deeper", "x"),
            "replace /data/missing/deeper can not be done",
        ),
        (patch("remove", "/data/missing"), "remove /data/missing can not be done"),
        (patch("add", "/data/color/deeper", "x"), "add /data/color/deeper can not be done"),
        (patch("add", "/data/x", "${MEMBER-CLUSTER-LABEL-KEY-zone}"), "m1 has no label zone"),
        (patch("replace", "/metadata/name", "other"), "changed what the object is"),
        (patch("replace", "/metadata/namespace", "other"), "changed what the object is"),
        (patch("remove", "/metadata/namespace"), "changed what the object is"),
        (patch("replace", "/apiVersion", "v2"), "changed what the object is"),
        (patch("replace", "/kind", "Secret"), "changed what the object is"),
        (patch("replace", "/metadata", []), "changed what the object is"),
        (patch("replace", "", "text"), "leaves no object"),
    ],
)
def test_what_can_not_be_done_names_the_override(change: Any, said: str) -> None:
    """And why; nothing is made."""
    with pytest.raises(OverrideFailed, match=said):
        made(of(rule(change)))


@pytest.mark.parametrize(
    ("selector", "chosen"),
    [
        (None, False),
        ({"clusterSelectorTerms": []}, True),
        ({"clusterSelectorTerms": [{}]}, True),
        (
            {"clusterSelectorTerms": [{"labelSelector": {"matchLabels": {"region": "west"}}}]},
            False,
        ),
        (
            {"clusterSelectorTerms": [{"labelSelector": {"matchLabels": {"region": "west"}}}, {}]},
            True,
        ),
    ],
)
def test_a_term_without_labels_is_of_every_cluster(selector: Any, chosen: bool):
    """As an empty list of terms is; without a selector a rule is of none."""
    one = rule(patch("remove", "/data/old"), selector=selector)
    assert rules_for(of(one), EAST) == ([one] if chosen else [])


def deep(times: int) -> Any:
    """A value nested so often."""
    value: Any = "x"
    for _ in range(times):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([patch("add", "/metadata/labels", "text")], "labels what is not text"),
        ([patch("add", "/metadata/labels/n", 1)], "labels what is not text"),
        ([patch("add", "/metadata/annotations", [])], "annotations what is not text"),
        (
            [patch("add", "/data/b", deep(90)), patch("add", f"/data/b{'/a' * 89}/b", deep(90))],
            "deep",
        ),
        ([patch("add", "/data/b", deep(900))], "can not be written"),
        ([patch("add", "/data/b", 10**40)], "can not be written"),
        ([patch("add", "/data/b", "\ud800")], "can not be written"),
    ],
    ids=["labels", "label", "annotations", "steps", "deep", "number", "surrogate"],
)
def test_what_no_member_could_be_sent_is_not_made(changes: list[Any], said: str) -> None:
    """It is told of the placement; composed, it would have stopped every answer to the member."""
    with pytest.raises(OverrideFailed, match=said):
        made(of(rule(*changes)))
