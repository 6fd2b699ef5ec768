"""`-o name` and `-o jsonpath=…`: what programs want of an answer, without another program."""

import json

import click
import pytest

from roadstead.cli.jsonpath import check, render
from tests.cli.build import a_listed_job
from tests.cli.commands import run
from tests.cli.scripted import Answer, answering, items

GIVEN = {
    "name": "a",
    "n": 3,
    "none": None,
    "labels": {"x.y/z": "q"},
    "items": [{"name": "one", "at": {"c": "k"}}, {"name": "two", "at": {"c": "m"}}],
}


@pytest.mark.parametrize(
    ("template", "drawn"),
    [
        ("{.name}", "a"),
        (".name", "a"),
        ("name", "a"),
        ("{.n}-{.none}", "3-null"),
        ("{.labels['x.y/z']}", "q"),
        (r"{.labels.x\.y/z}", "q"),
        ("{.items[*].name}", "one two"),
        ("{.items[0].name},{.items[-1].name},{.items[9].name}", "one,two,"),
        ('{range .items[*]}{.name}={.at.c}{"\\n"}{end}!', "one=k\ntwo=m\n!"),
        ('{.items[?(@.at.c=="m")].name}', "two"),
        ("{.items[?(@.at.c!='m')].name}", "one"),
        ("{.at}", ""),
        ("{.items[0].at}", '{"c":"k"}'),
        ("{range .nothing[*]}{.x}{end}", ""),
        ("{$.name}{@.n}", "a3"),
    ],
)
def test_templates_are_kubectls(template, drawn):
    """Paths, places, filters, ranges and texts; what does not exist prints nothing."""
    assert render(template, GIVEN) == drawn


@pytest.mark.parametrize(
    "template",
    ["{.a", "a}b{", "{.a[}", "{range .a}", "{end}", "{.a[?(x)]}", "{..a b}", '{"\\q"}',
     "{range .none[*]}{.[}{end}"],
)  # fmt: skip
def test_what_is_no_template_is_refused(template):
    """Before anything is asked of the hub, also where nothing would come of it."""
    with pytest.raises(click.BadParameter):
        check(template)
    assert run("jobs", "ls", "-o", f"jsonpath={template}").code == 2


def test_a_list_and_a_page_print_names():
    """Names as verbs take them, one a line, so that they can be handed on."""
    found = items(a_listed_job("one"), a_listed_job("two"))
    with answering(found) as script:
        done = run("--server", script.address, "jobs", "ls", "-o", "name")
    assert done.out == "team-a/one\nteam-a/two\n"
    with answering(items({"name": "c1", "state": "Ready", "ready": True})) as script:
        done = run("--server", script.address, "clusters", "ls", "-o", "name")
    assert done.out == "c1\n"


def test_a_page_prints_what_a_template_makes_of_it():
    """-o jsonpath of one thing, with an end of line where the template has none."""
    with answering(Answer(a_listed_job(events=[])), items()) as script:
        done = run("--server", script.address, "jobs", "show", "u", "-o", "jsonpath={.cluster}")
    assert (done.code, done.out) == (0, "gpu-1\n")


def test_what_has_no_names_says_so():
    """-o name of things without names is wrong usage."""
    with answering(items({"id": 1, "at": "2026-01-01T00:00:00Z", "uid": "u"})) as script:
        done = run("--server", script.address, "events", "-o", "name")
    assert (done.code, "have no names" in done.err) == (2, True)


def test_as_json_is_what_it_was():
    """The other ways to print are as they were."""
    with answering(items(a_listed_job())) as script:
        done = run("--server", script.address, "jobs", "ls", "-o", "json")
    assert json.loads(done.out) == {"items": [a_listed_job()]}
