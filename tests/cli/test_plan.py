"""`roadstead plan`: files are one body, and what the hub answers is shown whole."""

from pathlib import Path

from roadstead.models.plan import (
    Evicted,
    JobStand,
    Plan,
    PlannedCluster,
    PlannedJob,
    PlannedManifest,
    PlannedPlacement,
    Rebalanced,
    RenderedPlacement,
)
from tests.cli.commands import Ran, run
from tests.cli.filled import filled
from tests.cli.scripted import Answer, answering

PLACEMENT = filled(
    PlannedPlacement,
    clusters=[filled(PlannedCluster), filled(PlannedCluster, name="other", selected=False)],
    manifests=[filled(PlannedManifest, manifest={"a": 1})],
)
JOB = filled(
    PlannedJob, clusters=[filled(JobStand), filled(JobStand, name="other", fits=False, score=None)]
)
WAITING = filled(PlannedJob, admitted=False, clusters=[], message="", clusterQueue="")
SHOWN = """\
kind namespace/name
  message
  selects kind namespace/name and 4 more

  CLUSTER  PICKED  AFFINITY  SPREAD  WHY
  name     yes     3         4       message
  other    no      3         4       message

withdraws, once it is applied:
    cluster: 2 deleted, 3 deleted if empty, 4 released, 5 jobs withdrawn, 6 left, 7 not reported
      kind namespace/name  fate: message (inside, ...)
      ... and 7 more (-o json has the first 100)

# cluster: message
---
# cluster: kind namespace/name in type namespace/name, by overrides
a: 1
---
# 13 more: limit the output to one cluster, or to fewer objects

kind namespace/name  admitted, queue clusterQueue
  message

  CLUSTER  FITS  SCORE  WHY
  name     yes   3      message
  other    no    -      message

kind namespace/name  not admitted (reason)
"""


def asked(
    folder: Path, *args: str, files: dict[str, str] | None = None
) -> tuple[Ran, list[bytes]]:
    """Run it on these files, against a hub that answers with all of the above."""
    names = []
    for name, text in (files or {"a.yaml": "kind: A\n"}).items():
        (folder / name).write_text(text)
        names.append(str(folder / name))
    answer = filled(Plan, placements=[PLACEMENT], jobs=[JOB, WAITING])
    with answering(Answer(answer)) as script:
        ran = run("--server", script.address, "plan", *names, *args)
        return ran, script.bodies


def test_every_value_of_a_plan_stands_in_its_place(tmp_path: Path):
    """Placements first, then Jobs; clusters as the hub ranks them."""
    ran, _ = asked(tmp_path)
    assert (ran.code, ran.out) == (0, SHOWN)


def test_several_files_are_one_plan(tmp_path: Path):
    """One body, so that a placement finds the objects of the others; JSON is YAML too."""
    _, bodies = asked(tmp_path, files={"a.yaml": "kind: A\n", "b.json": '{"kind": "B"}'})
    assert bodies == [b'kind: A\n\n---\n{"kind": "B"}']


def test_files_without_documents_are_wrong_usage(tmp_path: Path):
    """There is nothing to ask."""
    ran, bodies = asked(tmp_path, files={"a.yaml": "# nothing\n"})
    assert (ran.code, bodies) == (2, [])


def test_an_empty_plan_says_so(tmp_path: Path):
    """Objects alone go nowhere."""
    (tmp_path / "a.yaml").write_text("kind: A\n")
    with answering(Answer({"placements": [], "jobs": [], "complete": True})) as script:
        ran = run("--server", script.address, "plan", str(tmp_path / "a.yaml"))
    assert ran.out == "There is no placement, no Job and no CronJob with a queue in them.\n"


MOVED = """\
kind namespace/name
  message
  stays: stays
  goes: goes
  comes: comes

  CLUSTER  PICKED  AFFINITY  SPREAD  WHY
  name     yes     3         4       message

"""


def test_a_rebalance_is_shown_before_it_is_done():
    """With --yes it is asked for, and told that it has begun."""
    shown = {}
    for args, carried_out in (((), False), (("--yes",), True)):
        answer = filled(Rebalanced, carriedOut=carried_out, clusters=[filled(PlannedCluster)])
        with answering(Answer(answer)) as script:
            ran = run("--server", script.address, "placements", "rebalance", "shop/p", *args)
        assert script.asked == ["POST /v1/placements/shop/p/rebalance"]
        shown[script.bodies[0]] = ran.out
    assert shown == {
        b'{"carryOut":false}': MOVED + "Nothing has moved; use --yes to move.\n",
        b'{"carryOut":true}': MOVED
        + "Moving: objects leave a cluster once they are available on the new one.\n",
    }


def test_manifests_of_one_cluster_are_asked_for(tmp_path: Path):
    """Naming the cluster is asking for them."""
    (tmp_path / "a.yaml").write_text("kind: A\n")
    with answering(Answer({"placements": [], "jobs": [], "complete": True})) as script:
        file = str(tmp_path / "a.yaml")
        run("--server", script.address, "plan", file, "--cluster", "c")
        run("--server", script.address, "plan", file, "--manifests")
        asked = list(script.asked)
    assert asked == [
        "POST /v1/plan?manifests=true&cluster=c",
        "POST /v1/plan?manifests=true",
    ]


def test_what_a_cluster_would_get_is_shown_as_documents():
    """Which YAML reads back: what is said of them stands in comments."""
    answer = filled(
        RenderedPlacement, manifests=[filled(PlannedManifest, manifest={"a": 1}, envelope=None)]
    )
    with answering(Answer(answer | {"manifestsLeft": 0})) as script:
        ran = run("--server", script.address, "placements", "render", "n/p", "--cluster", "c")
    assert (ran.code, ran.out) == (
        0,
        (
            "# kind namespace/name, cluster: message\n"
            "# cluster: message\n"
            "---\n"
            "# cluster: kind namespace/name, by overrides\n"
            "a: 1\n"
        ),
    )


def evicted(*args: str, **told: object) -> Ran:
    told = {"objectCount": 2, "jobCount": 1, "message": "why", "eviction": ""} | told
    with answering(Answer(filled(Evicted, **told))) as script:
        ran = run("--server", script.address, "placements", "evict", "shop/p", "c", *args)
    assert script.asked == ["POST /v1/placements/shop/p/evict"]
    return ran


def test_an_eviction_says_what_leaves_and_what_was_made_of_it():
    """Shown first, then done; what may not leave stays, and the exit code says so."""
    shown = evicted("--dry-run", allowed=True)
    assert (shown.code, shown.lines[0]) == (0, "kind namespace/name would leave cluster")
    assert shown.lines[1:3] == ["  why", "  2 object(s), 1 job(s)"]
    assert "    kind namespace/name  fate: message (inside, ...)" in "\n".join(shown.lines)
    done = evicted(allowed=True, eviction="p-x")
    assert done.lines[0] == "kind namespace/name leaves cluster"
    assert done.lines[-1] == "  kindEviction p-x"
    stays = evicted(allowed=False)
    assert (stays.code, stays.lines) == (1, ["kind namespace/name stays on cluster", "  why"])
