"""How an object of another kind than Job is written into a member is kept beside its manifest."""

import pytest

from hub.domain.workloads.work_form import WorkForm

RULE = {"templates": ["/spec/driver/template", "/spec/workers/template"], "pods": 5}


@pytest.mark.parametrize(
    "form",
    [
        WorkForm(
            RULE, ["driver", "workers"], [{"/spec/driver/template": {}}], ["/spec/queue"], 60
        ),
        WorkForm(RULE, ["driver", "workers"], [], []),
    ],
    ids=["whole", "least"],
)
def test_what_is_written_is_read_back(form: WorkForm) -> None:
    """Also where nothing is filled in or removed."""
    assert WorkForm.from_json(form.as_json()) == form


def test_the_rule_tells_templates_and_pods() -> None:
    """Both are read from the rule that the agent gets."""
    form = WorkForm(RULE, ["driver", "workers"])
    assert (list(form.templates), form.pods) == (RULE["templates"], 5)


def test_a_row_of_an_older_release_has_no_ttl() -> None:
    """A form without a time to live is read as one that has none."""
    told = WorkForm(RULE, ["driver"]).as_json()
    del told["ttl_s"]
    assert WorkForm.from_json(told).ttl_s is None
