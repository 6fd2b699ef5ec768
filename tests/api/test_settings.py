"""Settings are read from the environment, once; what is left empty there is not set."""

import pytest

from hub.config import limits_from
from hub.services.context.settings import Settings


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
    [("ROADSTEAD_API_BODY_BYTES", "many"), ("ROADSTEAD_QUEUEING_FAIR_SHARING", "on")],
)
def test_a_setting_that_can_not_be_read_is_named(variable, text):
    """Whatever else is there must be what the setting wants."""
    with pytest.raises(ValueError, match=variable):
        limits_from({variable: text})
