"""The rights to write that the charts grant: to agents of profile `jobs`, and to hubs."""

from typing import Any

import pytest

from agent.objects.holds import BUILT_IN
from tests.charts import helm
from tests.charts.examples import EXAMPLES


def test_an_agent_for_jobs_alone_may_write_nothing_else() -> None:
    """The profile `jobs` grants writing Jobs, objects that run as jobs, and creating their namespaces."""
    granted = {
        (resource, verb)
        for each in helm.objects(EXAMPLES["agent: defaults"])
        if each["kind"] == "ClusterRole"
        for rule in each["rules"]
        for resource in rule["resources"]
        for verb in set(rule["verbs"]) - {"get", "list", "watch"}
    }
    kinds = {f"{kind.lower()}s" for _, kind in BUILT_IN}
    writes = {(kind, verb) for kind in kinds for verb in ("create", "patch", "delete")}
    assert granted == writes | {("namespaces", "create")}


@pytest.mark.parametrize(
    ("example", "verbs"),
    [
        ("hub: no marks, elsewhere", {"patch"}),
        ("hub: in its hub cluster", {"patch", "create", "delete"}),
    ],
)
def test_a_hub_makes_and_removes_jobs_only_where_it_shows_them(example: str, verbs: Any) -> None:
    """Else it may do no more to people's Jobs than say whose they are, and suspend them."""
    granted = {
        verb
        for each in helm.objects(EXAMPLES[example])
        if each["kind"] == "ClusterRole" and each["metadata"]["name"].startswith("roadstead-hub")
        for rule in each["rules"]
        if "jobs" in rule["resources"]
        for verb in set(rule["verbs"]) - {"get", "list", "watch"}
    }
    assert granted == verbs
