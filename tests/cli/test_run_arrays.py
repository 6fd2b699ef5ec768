"""`--array`: one Indexed Job, whose processes know the numbers that were asked for."""

import json
import subprocess

import click
import pytest
import yaml

from roadstead.cli.run.array import Array, read
from tests.cli.build import a_job, a_listed_job, text
from tests.cli.commands import run
from tests.cli.scripted import Answer, answering, items


@pytest.mark.parametrize(
    ("given", "array", "count"),
    [
        ("0-199%20", Array(0, 199, 1, 20), 200),
        ("0-3", Array(0, 3, 1, 4), 4),
        ("5-9:2%2", Array(5, 9, 2, 2), 3),
        ("7", Array(7, 7, 1, 1), 1),
        ("0-3%99", Array(0, 3, 1, 4), 4),
    ],
)
def test_numbers_are_read(given, array, count):
    """FIRST-LAST, :STEP, %AT-ONCE; as many at once as there are, unless fewer are asked for."""
    assert (read(given), read(given).count) == (array, count)


@pytest.mark.parametrize(
    "given", ["", "a", "3-1", "0-9%0", "0-9:0", "1,2", "-1-3", "0-100000", "0-9999999999", "0-٣"]
)
def test_what_has_no_numbers_is_refused(given):
    """Anything else is wrong usage, with what to type, however long or foreign."""
    with pytest.raises(click.BadParameter):
        read(given)


def _made(*arguments):
    done = run("run", "--dry-run", *arguments)
    assert done.code == 0, done.err
    spec = yaml.safe_load(done.out)["spec"]
    return spec, spec["template"]["spec"]["containers"][0]


def test_an_array_is_one_indexed_job():
    """200 completions, 20 at once; one that fails keeps no other back."""
    spec, _ = _made("--array", "0-199%20", "--retries", "2", "--", "x")
    del spec["template"]
    assert spec == {
        "completionMode": "Indexed",
        "completions": 200,
        "parallelism": 20,
        "backoffLimitPerIndex": 2,
    }


def test_numbers_from_nought_are_kubernetes_own():
    """ROADSTEAD_ARRAY_INDEX is the pod's annotation: no shell is put before the command."""
    _, container = _made("--array", "0-3", "--", "python", "a.py")
    assert container["command"] == ["python", "a.py"]
    own = next(each for each in container["env"] if each["name"] == "ROADSTEAD_ARRAY_INDEX")
    path = own["valueFrom"]["fieldRef"]["fieldPath"]
    assert path == "metadata.annotations['batch.kubernetes.io/job-completion-index']"


@pytest.mark.parametrize(("array", "told"), [("5-9", "7"), ("5-9:2", "9"), ("0-9:3", "6")])
def test_other_numbers_are_worked_out_before_the_command(array, told):
    """A shell turns Kubernetes' number into the one that was asked for; words stay whole."""
    _, container = _made("--array", array, "--", "printenv", "ROADSTEAD_ARRAY_INDEX")
    done = subprocess.run(
        container["command"],
        env={"PATH": "/usr/bin:/bin", "JOB_COMPLETION_INDEX": "2"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == told + "\n"
    _, container = _made("--array", array, "--", "printf", "%s|", "a b", "$c", "'")
    done = subprocess.run(container["command"], env={"PATH": "/usr/bin:/bin"},
                          capture_output=True, text=True, check=True)  # fmt: skip
    assert done.stdout == "a b|$c|'|"


def test_both_ways_to_say_how_many_at_once_are_one_too_many():
    """--array with --parallelism is wrong usage."""
    done = run("run", "--array", "0-3", "--parallelism", "2", "--", "x")
    assert (done.code, "FIRST-LAST%AT-ONCE" in done.err) == (2, True)


def _submitted(tmp_path, *documents, array="0-9%3"):
    (tmp_path / "jobs.yaml").write_text(text(*documents))
    taken = [a_listed_job(each["metadata"]["name"]) for each in documents]
    answer = items(*taken) if len(taken) > 1 else Answer(taken[0], 201)
    with answering(answer) as script:
        done = run(
            "--server", script.address, "submit", "--array", array, str(tmp_path / "jobs.yaml")
        )
    return done, [json.loads(line) for body in script.bodies for line in body.splitlines()]


def test_manifests_are_submitted_as_arrays(tmp_path):
    """Each Job of a file becomes an array; its backoffLimit is each number's, its own variables stay."""
    one, two = a_job("one", backoffLimit=4), a_job("two")
    one["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "A", "value": "b"}]
    done, sent = _submitted(tmp_path, one, two)
    assert done.code == 0, done.err
    assert [each["spec"]["completions"] for each in sent] == [10, 10]
    assert [each["spec"]["backoffLimitPerIndex"] for each in sent] == [4, 0]
    assert "backoffLimit" not in sent[0]["spec"]
    env = sent[0]["spec"]["template"]["spec"]["containers"][0]["env"]
    assert [each["name"] for each in env][:2] == ["A", "ROADSTEAD_ARRAY_INDEX"]


def test_a_manifest_counts_from_nought(tmp_path):
    """Other numbers need the command, which a manifest may leave to its image: refused, nothing is sent."""
    done, sent = _submitted(tmp_path, a_job("one"), array="1-9")
    assert (done.code, sent) == (2, [])
    assert "roadstead run --array" in done.err
