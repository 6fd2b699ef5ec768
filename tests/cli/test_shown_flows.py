"""What submit, apply and explain print: job by job, document by document, part by part."""

import json
from pathlib import Path
from typing import Any

import pytest

from roadstead.models.explanation import Explanation
from roadstead.models.jobs import Job, WholeJob
from roadstead.models.objects import Applied
from tests.cli.build import a_job, text
from tests.cli.commands import Ran, run
from tests.cli.filled import filled
from tests.cli.scripted import Answer, answering, items

REFUSED = {
    "code": "UnsupportedKind",
    "detail": "no Job",
    "errors": [{"field": "kind", "code": "c", "message": "is a Pod"}],
}
FAR = "2999-01-01T00:00:00Z"


def submitted(folder: Path, answers: list[Answer], count: int, *options: str) -> Ran:
    """`submit` of so many jobs in one file `jobs`, whose folder is left out of what was printed."""
    file = folder / "jobs.yaml"
    file.write_text(text(*(a_job(f"j{n}") for n in range(count))))
    with answering(*answers) as script:
        done = run("--server", script.address, "submit", str(file), *options)
    return Ran(done.code, done.out, done.err.replace(str(file), "jobs"))


def taken(name: str, **more: Any) -> dict[str, Any]:
    return filled(Job, uid=f"u-{name}", name=name, warnings=[], **more)


def ended(name: str, **more: Any) -> Answer:
    return Answer(filled(WholeJob, uid=f"u-{name}", name=name, **more))


def test_what_was_taken_is_told_and_what_was_not_is_told_beside(tmp_path: Path) -> None:
    """Names and uids to standard output; warnings and refusals to standard error."""
    first, third = taken("a"), taken("c")
    batch = {
        "items": [{"index": 0, **first}, {"index": 1, **REFUSED}, {"index": 2, **third}],
        "warnings": [{"index": 2, "message": "spec.x"}],
    }
    done = submitted(tmp_path, [Answer(batch)], 3)
    assert done.code == 3
    assert done.out == "namespace/a submitted (u-a)\nnamespace/c submitted (u-c)\n"
    assert done.err == (
        "jobs, document 2 refused:\n"
        "  kind: no Job [UnsupportedKind]\n"
        "  kind: is a Pod\n"
        "namespace/c: warning: spec.x\n"
    )


def test_programs_get_what_was_taken_alone(tmp_path: Path) -> None:
    """As JSON, with the refusals still told beside it and no next step."""
    batch = {"items": [{"index": 0, **REFUSED}, {"index": 1, **taken("b")}]}
    done = submitted(tmp_path, [Answer(batch)], 2, "-o", "json")
    assert done.code == 3
    assert json.loads(done.out) == {"items": [taken("b")]}
    assert done.err.startswith("jobs, document 1 refused:\n")
    assert "Next" not in done.err


def test_each_end_is_told_with_its_place_and_why(tmp_path: Path) -> None:
    """Why only of what did not succeed, where only of what was somewhere; the failed are named at the end."""
    answers = [
        items(taken("a"), taken("b"), taken("c")),
        ended("a", state="Succeeded"),
        ended("b", state="Failed", cluster=""),
        ended("c", state="Cancelled", reason=""),
    ]
    done = submitted(tmp_path, answers, 3, "--wait")
    assert done.code == 1
    assert done.out.splitlines()[3:] == [
        "namespace/a Succeeded on cluster",
        "namespace/b Failed (reason)",
        "namespace/c Cancelled on cluster",
    ]
    assert done.err == (
        "error: did not succeed: namespace/b Failed (reason), namespace/c Cancelled\n"
        "  Why: roadstead explain namespace/b. Its log: roadstead logs namespace/b\n"
    )


def test_a_wait_looks_at_each_job_by_its_uid_and_ends_for_all_together(tmp_path: Path) -> None:
    """The one that goes on is named with its state then; the others' ends were told."""
    file = tmp_path / "jobs.yaml"
    file.write_text(text(a_job("a"), a_job("b")))
    answers = [
        items(taken("a"), taken("b")),
        ended("a", state="Succeeded"),
        ended("b", state="Running"),
    ]
    with answering(*answers) as script:
        line = ["submit", str(file), "--wait", "--timeout", "0"]
        done = run("--server", script.address, *line)
    assert (done.code, done.err) == (6, "error: namespace/b is Running after 0 s\n")
    assert done.lines[-1] == "namespace/a Succeeded on cluster"
    assert script.asked[1:] == ["GET /v1/jobs/u-a", "GET /v1/jobs/u-b", "GET /v1/jobs/u-b"]


def applied(index: int, result: str, **more: Any) -> dict[str, Any]:
    plain = {"code": "", "detail": "", "warnings": []}
    return filled(Applied, index=index, result=result, **{**plain, **more})


def test_each_document_is_told_by_file_and_number(tmp_path: Path) -> None:
    """What was done to standard output; warnings and refusals beside it; exit code 3 for one refused."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text("kind: A\n")
    whole = Answer({"status": 422, "code": "Unreadable", "detail": "no YAML"}, 422)
    told = items(
        applied(0, "created", namespace=""),
        applied(1, "configured", warnings=["spec.x"]),
        applied(2, "rejected", code="Code", detail="bad"),
    )
    with answering(told, whole) as script:
        done = run("--server", script.address, "apply", "-f", str(tmp_path))
    assert done.code == 3
    assert done.out == "kind name created\nkind namespace/name configured\n"
    assert done.err.replace(f"{tmp_path}/", "") == (
        "kind namespace/name: warning: spec.x\n"
        "a.yaml, document 3 (kind namespace/name) refused:\n  bad [Code]\n"
        "b.yaml refused:\n  no YAML [Unreadable]\n"
    )
    assert script.asked == ["POST /v1/apply"] * 2


def test_programs_get_every_result_with_its_file(tmp_path: Path) -> None:
    """Those of every file and of refusals, as the hub gave them."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text("kind: A\n")
    given = [applied(0, "created", warnings=["w"]), applied(0, "rejected", code="Code")]
    refused = Answer({"status": 422, "code": "Rejected", "items": [given[1]]}, 422)
    with answering(items(given[0]), refused) as script:
        line = ["apply", "-f", str(tmp_path), "-n", "ns", "-o", "json"]
        done = run("--server", script.address, *line)
    assert json.loads(done.out) == {
        "items": [
            {"file": str(tmp_path / f"{name}.yaml"), **each}
            for name, each in zip(("a", "b"), given, strict=True)
        ]
    }
    assert done.code == 3
    assert "warning" not in done.err
    assert script.asked == ["POST /v1/apply?namespace=ns"] * 2


WHOLE = filled(
    Explanation,
    state="Pending",
    waiting={
        "quota": [
            {"resource": "r", "flavor": "f", "asked": "3", "used": "5", "limit": "7",
             "missing": "1", "cohort": "co"},
            {"resource": "r2", "flavor": "f2", "asked": "4", "used": "6", "limit": "8",
             "missing": "2"},
        ],
        "nearest": {"message": "almost"},
        "clusters": [
            {"cluster": "c1", "reason": "Full", "message": "no room"},
            {"cluster": "c2", "rule": "Taint", "reason": ""},
        ],
    },
    decision={
        "clusters": [
            {"cluster": "c1", "score": 9, "selected": True,
             "terms": [{"name": "x/room", "score": 3, "weight": 2}]},
            {"cluster": "c2", "rule": "Taint", "score": 8, "message": "tainted"},
        ]
    },
    setAside={"c3": FAR, "c4": None},
    nomination={"victims": ["v1", "v2"], "cluster": "c5"},
    quota=[
        {"flavor": "f", "resource": "r", "nominal": "10", "used": "5", "borrowed": "2",
         "available": "0", "potential": "10"},
        {"flavor": "f2", "resource": "r2", "nominal": None, "used": "0", "borrowed": "1",
         "available": None, "potential": "12"},
        {"flavor": "f3", "resource": "unused", "nominal": "4", "used": "0", "borrowed": "0",
         "available": "4", "potential": "4"},
    ],
    preemption={
        "candidates": [{"namespace": "n", "name": "small", "priority": 1}],
        "candidatesTotal": 3,
        "spared": [{"reason": "Never", "count": 2, "examples": [{"namespace": "n", "name": "o"}]}],
    },
    flavors=[
        {"flavor": "f", "outcome": "NoFit", "message": "m", "preempts": 2},
        {"flavor": "f2", "outcome": "Fit", "message": "n"},
    ],
    forecast={
        "at": FAR,
        "message": "then",
        "restsOn": [
            {"namespace": "n", "name": "early", "endsAt": FAR},
            {"namespace": "n", "name": "open", "endsAt": None},
        ],
    },
)  # fmt: skip
PAGE = """\
namespace/name is Pending on cluster (reason)
  message
  submitted by owner
  after name, which is condition: state (ended)
  cluster had its last contact 2020-01-04T00:00:00.000Z (policy)
    - choices
  epoch 2 was left behind in cluster, which is to withdraw it; ran beside a later one; 4 pods when last seen
  position 1 of 2 in queue clusterQueue, 3 of 4 overall
  quota: r of flavor f: 3 asked, 5 of 7 used in cohort co, 1 more needed
  quota: r2 of flavor f2: 4 asked, 6 of 8 used, 2 more needed
  nearest: almost

Clusters
  CLUSTER  RULE   BECAUSE
  c1       Full   no room
  c2       Taint  -

Its queue's own quota
  FLAVOR  RESOURCE  NOMINAL    USED  BORROWED  AVAILABLE
  f       r         10         5     2         0
  f2      r2        unlimited  0     1         unlimited

Preemption
  preemption candidates: n/small (priority 1) and 2 more
  2 protected: Never (n/o and 1 more)

Flavor by flavor
  FLAVOR  OUTCOME  PREEMPTS  BECAUSE
  f       NoFit    2         m
  f2      Fit      -         n

What would change it
  - message

Expected start
  expected to start at 2999-01-01T00:00:00.000Z: then
    n/early ends at 2999-01-01T00:00:00.000Z

Admission checks
  CHECK  STATE  CONTROLLER      SAYS
  name   state  controllerName  message
  2 jobs are preempted to make room for it on c5

Decision of its last placement
  CLUSTER  SCORE  CHOSEN  BECAUSE
  c1       9      yes     room 3 of 2
  c2       -      -       tainted

Avoided clusters: c3 until 2999-01-01T00:00:00.000Z, c4 until a user releases the job

What happened
  2020-01-02T00:00:00.000Z  reason: message
"""


def explained(told: dict[str, Any]) -> str:
    with answering(Answer(told)) as script:
        return run("--server", script.address, "explain", "u").out


def test_every_part_of_an_explanation_has_its_place() -> None:
    """Of one that has them all: figures under their headings, and none of another's."""
    assert explained(WHOLE) == PAGE


@pytest.mark.parametrize("state", ["Running", "Applied", "Withdrawing"])
def test_where_it_runs_and_what_was_decided_is_present(state: str) -> None:
    """The decision is of the run that there is; members are told quota aside where nothing hinders."""
    page = explained(WHOLE | {"state": state, "waiting": None})
    assert page.startswith(f"namespace/name is {state} on cluster (reason)\n  message\n")
    assert "\nDecision\n" in page
    assert (
        "\nClusters, regardless of quota\n  CLUSTER  ROOM NOW  BECAUSE\n  cluster  yes       message"
        in page
    )
