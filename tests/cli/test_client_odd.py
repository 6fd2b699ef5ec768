"""The client and answers that no hub gives; an apply that is cut off."""

import json

import pytest

from roadstead import Client, Unreachable
from tests.cli.build import a_job, a_listed_job
from tests.cli.scripted import Answer, answering, items


def test_an_apply_that_makes_up_names_is_not_repeated():
    """Each `generateName` that is applied is another Job: cut off, nobody knows whether it was made."""
    manifest = {**a_job(), "metadata": {"generateName": "sweep-"}}
    with answering(items(), Answer(cut=True), items()) as script, Client(script.address) as hub:
        list(hub.jobs())
        with pytest.raises(Unreachable):
            hub.apply(json.dumps(manifest))
    assert len(script.asked) == 2


def test_a_list_that_goes_round_in_circles_is_no_hubs():
    """The same page is not asked for without end."""
    page = Answer({"items": [], "continue": "here"})
    with answering(page) as script, Client(script.address) as hub:
        with pytest.raises(Unreachable, match="is not a hub"):
            list(hub.jobs())
        assert len(script.asked) == 2


def test_an_answer_nested_without_end_is_no_hubs():
    """What no hub sends is told as such, whatever it does to a reader of JSON."""
    with (
        answering(Answer(b"[" * 100_000)) as script,
        Client(script.address) as hub,
        pytest.raises(Unreachable, match="is not a hub"),
    ):
        hub.overview()


@pytest.mark.parametrize("warnings", ["abc", [{"place": 1}], [3], 7])
def test_warnings_that_are_none_are_no_hubs(warnings):
    """A batch's answer is read whole or not at all."""
    told = Answer({"items": [a_listed_job()], "warnings": warnings})
    with (
        answering(told) as script,
        Client(script.address) as hub,
        pytest.raises(Unreachable, match="is not a hub"),
    ):
        hub.submit_many([a_job()])
