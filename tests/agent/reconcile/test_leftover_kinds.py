"""The kinds that a session looks through once: those that the rules of its account let it list."""

import pytest

from agent.reconcile.leftover_kinds import may_list
from shared.kube.discovery import Endpoint

DEPLOYMENTS = Endpoint("apps/v1", "Deployment", "deployments", True, frozenset(), "/apis/apps/v1")


def a_rule(**changed):
    return {"verbs": ["list"], "apiGroups": ["apps"], "resources": ["deployments"]} | changed


@pytest.mark.parametrize(
    ("rules", "listed"),
    [
        (None, True),
        ([], False),
        ([a_rule()], True),
        ([a_rule(verbs=["*"], apiGroups=["*"], resources=["*"])], True),
        ([a_rule(verbs=["get", "watch"])], False),
        ([a_rule(apiGroups=[""])], False),
        ([a_rule(resources=["deployments/status"])], False),
        ([a_rule(resourceNames=["one"])], False),
        ([a_rule(resources=["jobs"]), a_rule()], True),
        ([{}], False),
    ],
)
def test_a_kind_is_listed_where_one_rule_allows_all_of_it(rules, listed):
    """Verb, group and resource of one rule, an asterisk for any; without an answer every kind is tried."""
    assert may_list(rules, DEPLOYMENTS) is listed
