"""Which overrides name what a placement selects."""

import pytest

from hub.domain.placement.overrides import Override, naming
from hub.domain.placement.status import Resource

SETTINGS = Resource("", "v1", "ConfigMap", "shop", "settings")
SHOP = Resource("", "v1", "Namespace", "", "shop")
PLACEMENT = ("ClusterResourcePlacement", "web")


def a_selector(kind="ConfigMap", name="settings"):
    return {"group": "", "version": "v1", "kind": kind, "name": name}


def of_namespace(*selectors, namespace="shop", **spec):
    return Override(
        "ResourceOverride", namespace, "o", {"resourceSelectors": [*selectors], **spec}
    )


def of_cluster(*selectors, **spec):
    spec["clusterResourceSelectors"] = [*selectors]
    return Override("ClusterResourceOverride", "", "o", spec)


@pytest.mark.parametrize(
    "override",
    [
        of_namespace(a_selector()),
        of_namespace(a_selector(name="other"), a_selector()),
        of_namespace(a_selector(), placement={"name": "web"}),
        of_namespace(a_selector(), placement={"name": "web", "scope": "Cluster"}),
        of_cluster(a_selector("Namespace", "shop")),
    ],
)
def test_an_override_names_what_is_selected(override):
    """By exact name in its namespace, or by the Namespace; for all placements or for this one."""
    assert naming([override], PLACEMENT, [SETTINGS]) == [override]


@pytest.mark.parametrize(
    "override",
    [
        of_namespace(a_selector(name="other")),
        of_namespace(a_selector(), namespace="elsewhere"),
        of_namespace(a_selector("Namespace", "shop")),
        of_namespace(a_selector(), placement={"name": "other"}),
        of_namespace(a_selector(), placement={"name": "web", "scope": "Namespaced"}),
        of_cluster(a_selector()),
        of_cluster(),
    ],
)
def test_an_override_of_something_else_is_no_concern(override):
    """Another name, namespace, placement, or a cluster override that names what is namespaced."""
    assert naming([override], PLACEMENT, [SETTINGS]) == []


def test_a_cluster_override_names_the_namespace_itself():
    """That one is cluster-scoped, so its name is enough."""
    override = of_cluster(a_selector("Namespace", "shop"))
    assert naming([override], PLACEMENT, [SHOP]) != []


@pytest.mark.parametrize("odd", [None, "text", {"resourceSelectors": ["text", None]}, [1]])
def test_an_override_of_any_shape_is_read(odd):
    """These kinds are kept as they came; nobody checked their fields."""
    spec = odd if isinstance(odd, dict) else {"resourceSelectors": odd, "placement": odd}
    assert naming([Override("ResourceOverride", "shop", "o", spec)], PLACEMENT, [SETTINGS]) == []
