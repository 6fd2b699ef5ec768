"""Settings are read from the environment, once; what is left empty there is not set."""

import re
from pathlib import Path

import pytest

from hub.config import limits_from, unknown_variables
from hub.services.context.settings import Settings

SETTINGS = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"


@pytest.mark.parametrize(
    "variable",
    [
        "ROADSTEAD_API_BODY_BYTES",
        "ROADSTEAD_SCHEDULING_CYCLE_S",
        "ROADSTEAD_RETENTION_EVENTS",
        "ROADSTEAD_QUEUEING_FAIR_SHARING",
    ],
)
def test_an_empty_setting_is_not_set(variable):
    """A variable that is there and empty gives the default, as deployments pass on what they leave open."""
    assert limits_from({variable: ""}) == Settings()


def test_a_list_of_names_may_be_empty():
    """Where a text is wanted, nothing is a text too."""
    limits = limits_from({"ROADSTEAD_INTAKE_UNSUSPENDABLE_LABELS": ""})
    assert limits.intake.unsuspendable_labels == ""


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("ROADSTEAD_API_BODY_BYTES", "many"),
        ("ROADSTEAD_API_BODY_BYTES", "1.5"),
        ("ROADSTEAD_QUEUEING_FAIR_SHARING", "on"),
        ("ROADSTEAD_RETENTION_EVENTS", "7d"),
        ("ROADSTEAD_RETENTION_EVENTS", "1e300"),
        ("ROADSTEAD_SCHEDULING_CYCLE_S", "inf"),
        ("ROADSTEAD_SCHEDULING_CYCLE_S", "nan"),
    ],
)
def test_a_setting_that_can_not_be_read_is_named(variable, text):
    """Whatever else is there must be what the setting wants."""
    with pytest.raises(ValueError, match=f"^{variable}={text}: expected "):
        limits_from({variable: text})


def test_an_amount_below_nothing_is_refused_where_it_means_nothing():
    """A retention of -1 would take everything away; where the default is negative, that is a meaning."""
    with pytest.raises(ValueError, match="expected a number from 0 on"):
        limits_from({"ROADSTEAD_RETENTION_FINISHED_JOBS": "-1"})
    limits = limits_from({"ROADSTEAD_QUEUEING_REQUEUING_BACKOFF_LIMIT": "-2"})
    assert limits.queueing.requeuing_backoff_limit == -2


def test_a_variable_that_nothing_reads_is_named_with_the_one_that_is_near():
    """A misspelt setting is told with the one that may be meant, an option as one, what is far off alone."""
    environ = {
        "ROADSTEAD_QUEUEING_FAIR_SHARNIG": "1",
        "ROADSTEAD_COLOUR": "red",
        "ROADSTEAD_HUB_KUBECONFIG": "/kubeconfig",
        "PATH": "/bin",
    }
    assert unknown_variables(environ) == [
        "ROADSTEAD_COLOUR",
        "ROADSTEAD_HUB_KUBECONFIG (use the option --hub-kubeconfig)",
        "ROADSTEAD_QUEUEING_FAIR_SHARNIG (did you mean ROADSTEAD_QUEUEING_FAIR_SHARING?)",
    ]


@pytest.mark.parametrize(
    "variable",
    [
        "ROADSTEAD_API_BODY_BYTES",
        "ROADSTEAD_SERVER",
        "ROADSTEAD_AGENT_KINDS",
        "ROADSTEAD_KUBE_QPS",
        "ROADSTEAD_HUB_SERVICE_HOST",
        "ROADSTEAD_HUB_PORT_8080_TCP_ADDR",
    ],
)
def test_variables_of_other_parts_are_known(variable):
    """Those of the command line and of agents, and what Kubernetes says of a Service, are no mistake."""
    assert unknown_variables({variable: "x"}) == []


def test_every_documented_variable_is_known():
    """Each variable that docs/reference/settings.md lists is one that is read."""
    listed = re.findall(r"^\| `(ROADSTEAD_[A-Z_]+)`", SETTINGS.read_text(), re.MULTILINE)
    assert len(listed) > 50
    assert unknown_variables(dict.fromkeys(listed, "x")) == []
