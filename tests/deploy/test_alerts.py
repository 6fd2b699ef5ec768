"""The alert rules: they name metrics, states and pages that there are. Their commands: tests/house."""

import re
from typing import Any

import pytest
import yaml
from prometheus_client import REGISTRY

from hub.api import measures
from hub.domain.workloads.states import State
from hub.services.questions.rollouts import RUN_STATES
from hub.services.works import counters
from tests.deploy.exported import exported
from tests.house.sources import REPOSITORY

DEPLOY = REPOSITORY / "deploy"
FILE = DEPLOY / "monitoring" / "alerts.yaml"
RULES: list[dict[str, Any]] = [
    rule for group in yaml.safe_load(FILE.read_text())["groups"] for rule in group["rules"]
]
STATES = {
    "roadstead_jobs": {state.value for state in State},
    "roadstead_clusters": {"Ready", "Cordoned", "Suspect", "Unhealthy", "Declared", "Fenced"},
    "roadstead_placements": {"Settled", "Unsettled", "Unscheduled"},
    "roadstead_update_runs": set(RUN_STATES),
}
# Series with labels of which one alone raises no alarm: a share of others, or more than a few of them.
MANY_ASKED = {"roadstead_http_request_seconds_count", "roadstead_loop_faults_total"}
_GROWS = re.compile(r'(?:increase|rate)\((roadstead_\w+)(?:\{(\w+)="([^"]+)"\})?\[')
GROWING = sorted({found for rule in RULES for found in _GROWS.findall(rule["expr"])})
every_rule = pytest.mark.parametrize("rule", RULES, ids=[rule["alert"] for rule in RULES])


@every_rule
def test_it_asks_for_metrics_that_there_are(rule: dict[str, Any]) -> None:
    """With the ending that Prometheus adds to counters and histograms."""
    asked = set(re.findall(r"roadstead_\w+", rule["expr"]))
    assert asked
    assert asked <= exported()


@every_rule
def test_it_asks_for_states_that_there_are(rule: dict[str, Any]) -> None:
    """A misspelt state would never raise an alarm."""
    for metric, states in re.findall(r'(roadstead_\w+)\{state=~?"([^"]+)"', rule["expr"]):
        assert set(states.split("|")) <= STATES[metric]


def _labelled(name: str, value: str) -> dict[str, str]:
    return {name: value} if name else {}


@pytest.mark.parametrize(
    ("series", "name", "value"), [each for each in GROWING if each[0] not in MANY_ASKED]
)
def test_what_an_alert_sees_grow_is_exported_before_it_grows(
    series: str, name: str, value: str
) -> None:
    """Prometheus sees no increase in a series that begins at 1: the first event would raise no alarm."""
    assert measures.CREDENTIALS
    assert counters.DOUBLE_RUNS  # these modules make the series
    assert REGISTRY.get_sample_value(series, _labelled(name, value)) is not None


def test_a_loop_has_a_count_of_faults_with_its_first_turn() -> None:
    """Also if that turn is well."""
    measures.observe_turn("first", 0.1, None)
    assert REGISTRY.get_sample_value("roadstead_loop_faults_total", {"loop": "first"}) == 0


def test_dispatch_stalls_also_where_no_hub_exports_a_cycle() -> None:
    """An absent series is no 0: jobs that wait raise the alarm unless cycles are completed."""
    (rule,) = [each for each in RULES if each["alert"] == "RoadsteadDispatchStalls"]
    wait, silenced = rule["expr"].split(" unless on() ")
    assert wait == 'max(roadstead_jobs{state="Pending"}) > 0'
    assert silenced == "sum(increase(roadstead_scheduling_cycles_total[10m])) > 0"


@every_rule
def test_it_says_what_happened_and_where_to_read_on(rule: dict[str, Any]) -> None:
    """A severity, a summary, a description, and pages that exist."""
    assert rule["labels"]["severity"] in {"critical", "warning", "info"}
    assert rule["annotations"].keys() == {"summary", "description"}
    assert {text[-1] for text in rule["annotations"].values()} == {"."}
    for page in re.findall(r"docs/[\w/-]+\.md", rule["annotations"]["description"]):
        assert (REPOSITORY / page).is_file(), page


def test_each_thing_that_somebody_is_called_for_has_a_rule() -> None:
    """Hub, members, queues, placements, drift, rollouts; no name twice."""
    names = [rule["alert"] for rule in RULES]
    assert len(set(names)) == len(names)
    for part in ("Hub", "Cluster", "Agent", "Queue", "Placement", "Drift", "Rollout"):
        assert any(name.startswith(f"Roadstead{part}") for name in names), part


def test_the_chart_installs_the_same_rules() -> None:
    """With the Prometheus operator, and without it."""
    assert (DEPLOY / "charts" / "roadstead-hub" / "alerts.yaml").read_text() == FILE.read_text()


def test_prometheus_of_the_compose_file_reads_them() -> None:
    """From the folder that is mounted beside its own configuration."""
    asked = yaml.safe_load((FILE.parent / "prometheus.yaml").read_text())
    assert asked["rule_files"] == [FILE.name]
