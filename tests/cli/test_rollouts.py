"""`roadstead rollouts`: runs stage by stage, and the next step said."""

from typing import Any

import pytest

from tests.cli.commands import run
from tests.cli.scripted import Answer, answering, items


def a_run(**more: Any) -> dict[str, Any]:
    return {
        "kind": "StagedUpdateRun",
        "namespace": "shop",
        "name": "spring",
        "placement": "web",
        "strategy": "careful",
        "version": "3",
        "state": "Run",
        "reason": "UpdateRunWaiting",
        "message": "waiting for after-stage tasks of stage canary: approval",
        "clusters": 4,
        "updated": 1,
        "waitsFor": ["spring-after-canary"],
        "createdAt": "2999-01-01T00:00:00Z",
        **more,
    }


STAGES = [
    {
        "name": "canary",
        "reason": "StageUpdatingWaiting",
        "message": "m",
        "startedAt": "2999-01-01T00:00:00Z",
        "tasks": [
            {
                "when": "after",
                "type": "Approval",
                "request": "spring-after-canary",
                "done": False,
                "message": "approval is requested",
            }
        ],
        "clusters": [
            {
                "name": "m1",
                "reason": "ClusterUpdatingSucceeded",
                "message": "done",
                "startedAt": "2999-01-01T00:00:00Z",
            }
        ],
    },
    {"name": "kubernetes-fleet.io/deleteStage", "reason": "NotStarted"},
]


def test_runs_are_listed():
    """With how many clusters are done, and why not the others."""
    with answering(items(a_run())) as script:
        told = run("--server", script.address, "rollouts", "ls").out
    head, line = told.splitlines()[:2]
    assert head.split() == [
        "NAMESPACE", "NAME", "PLACEMENT", "VERSION", "DONE", "STATE", "AGE", "SAYS",
    ]  # fmt: skip
    assert line.split()[:7] == ["shop", "spring", "web", "3", "1/4", "Waiting", "0s"]


def test_a_run_is_shown_stage_by_stage():
    """The last stage only where it has something to take back; the command that helps at the end."""
    with answering(Answer(a_run(stages=STAGES))) as script:
        told = run("--server", script.address, "rollouts", "show", "shop/spring").out
    assert script.asked == ["GET /v1/rollouts/shop/spring"]
    assert (
        told
        == """\
StagedUpdateRun shop/spring
  brings version 3 of placement web by strategy careful
  Waiting: waiting for after-stage tasks of stage canary: approval

  stage canary: Waiting
      CLUSTER  STATE      SINCE  SAYS
      m1       Succeeded  0s     done
    Approval spring-after-canary, after the stage: open; approval is requested

approve it: roadstead rollouts approve shop/spring
"""
    )


@pytest.mark.parametrize(
    ("more", "hint"),
    [
        (
            {"waitsFor": [], "stoppedByItself": True},
            "roll back: roadstead rollouts rollback",
        ),
        ({"waitsFor": [], "state": "Initialize"}, "begin: roadstead rollouts resume shop/spring"),
        (
            {"waitsFor": [], "state": "Initialize", "origin": "hub-cluster"},
            "begin: kubectl patch stagedupdaterun spring -n shop --type merge -p '",
        ),
        ({"waitsFor": [], "state": "Stop", "origin": "hub-cluster"}, "resume: kubectl patch"),
        ({"waitsFor": [], "state": "Stop"}, "resume: roadstead rollouts resume shop/spring"),
        ({"waitsFor": [], "reason": "UpdateRunStuck"}, "roll back: roadstead rollouts rollback"),
    ],
)
def test_the_next_step_is_said(more, hint):
    """Whoever reads it need not look it up."""
    with answering(Answer(a_run(**more))) as script:
        told = run("--server", script.address, "rollouts", "show", "shop/spring").out
    assert told.splitlines()[-1].startswith(hint)


@pytest.mark.parametrize("more", [{"waitsFor": []}, {"reason": "UpdateRunSucceeded"}])
def test_where_nothing_helps_nothing_is_said(more):
    """A run under way, or over."""
    with answering(Answer(a_run(**more))) as script:
        told = run("--server", script.address, "rollouts", "show", "shop/spring").out
    assert "roadstead rollouts" not in told


def test_a_placement_shows_its_clusters():
    """With the version of each, and what it waits for."""
    placement = a_run(
        kind="ResourcePlacement",
        name="web",
        waitsFor=[],
        clusterVersions=[
            {"name": "m2", "version": "0", "reason": "RolloutNotStartedYet", "message": "m1 first"}
        ],
    )
    with answering(Answer(placement)) as script:
        told = run("--server", script.address, "rollouts", "show", "shop/web").out
    assert told.splitlines()[-1].split() == ["m2", "0", "RolloutNotStartedYet", "m1", "first"]


@pytest.mark.parametrize(
    ("words", "asked", "body"),
    [
        (["approve", "spring"], "approve", b"{}"),
        (
            ["approve", "spring", "--stage", "canary", "--when", "after"],
            "approve",
            b'{"stage":"canary","when":"after"}',
        ),
        (["stop", "spring"], "stop", b""),
        (["resume", "spring"], "resume", b""),
        (["rollback", "spring"], "rollback", b"{}"),
        (["rollback", "spring", "--to", "2"], "rollback", b'{"version":"2"}'),
    ],
)
def test_acts_are_asked_for_and_the_run_is_shown(words, asked, body):
    """Each is one request, and what it answers is shown."""
    with answering(Answer(a_run())) as script:
        ran = run("--server", script.address, "rollouts", *words)
    assert script.asked == [f"POST /v1/rollouts/spring/{asked}"]
    assert script.bodies == [body]
    assert ran.out.startswith("StagedUpdateRun shop/spring\n")
