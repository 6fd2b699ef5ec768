"""`roadstead admin` as it is typed: what is printed, and exit codes for scripts."""

import json
from pathlib import Path

from hub.store import schema
from tests.cli.commands import run, spawn


def test_a_schema_is_checked_made_and_taken_back(tmp_path: Path) -> None:
    """`--check` ends with 1 until a hub of this release runs on it; the answer is there as JSON too."""
    database = ("--database", f"sqlite:///{tmp_path}/hub.db")
    assert run("admin", "migrate", *database, "--check").code == 3  # there is none
    made = run("admin", "migrate", *database)
    assert (made.code, made.lines[0]) == (0, f"{tmp_path}/hub.db: from nothing to {schema.HEAD}")
    asked = run("admin", "migrate", *database, "--check", "-o", "json")
    assert (asked.code, json.loads(asked.out)["state"]) == (0, "current")
    back = run("admin", "migrate", *database, "--down", schema.FIRST_OF_POSTGRES)
    assert back.code == 0
    assert run("admin", "migrate", *database, "--check").code == 1


def test_a_database_that_refuses_is_told_in_a_line(tmp_path: Path) -> None:
    """Addresses that are none, files that are none, revisions that are none: exit code 3, no traceback."""
    (tmp_path / "text.db").write_text("no database" * 1000)
    for database in ("mysql://x", f"sqlite:///{tmp_path}/text.db", "postgresql://h:1/x?y=%"):
        done = run("admin", "migrate", "--database", database, "--check")
        assert (done.code, len(done.err.splitlines())) == (3, 1), done.err


def test_without_a_database_the_option_is_named(tmp_path: Path) -> None:
    """Neither --database nor the environment nor a fleet's folder: wrong usage."""
    done = spawn("admin", "migrate", "--check", ROADSTEAD_DATA=str(tmp_path))
    assert done.code == 2
    assert "--database" in done.err


def test_a_database_is_backed_up_restored_and_examined(tmp_path: Path) -> None:
    """The verbs in a row; the last one's exit code says that somebody has to look."""
    source, target = f"sqlite:///{tmp_path}/a/hub.db", f"sqlite:///{tmp_path}/b/hub.db"
    file = str(tmp_path / "backup")
    assert run("admin", "migrate", "--database", source).code == 0
    made = run("admin", "backup", file, "--database", source, "-o", "json")
    assert json.loads(made.out)["revision"] == schema.HEAD
    assert run("admin", "backup", file, "--database", source).code == 3  # it is there already
    done = run("admin", "restore", file, "--database", target)
    assert (done.code, "roadstead restored --accept" in done.out) == (0, True)
    assert run("admin", "restore", file, "--database", target).code == 3
    told = run(
        "--server", "http://127.0.0.1:9", "admin", "doctor", "--database", target, "-o", "json"
    )
    levels = {each["name"]: each["level"] for each in json.loads(told.out)["findings"]}
    assert (told.code, levels["restored"], levels["hub"]) == (3, "fail", "warn")


def test_rules_of_availability_are_shown_and_declared(hub, tmp_path) -> None:
    """From a file; what is no rule ends with its field. What is declared stands before what is built in."""
    file = tmp_path / "rules.yaml"
    rule = {"group": "kueue.x-k8s.io", "kind": "ClusterQueue", "available": "cond('Ready')"}
    file.write_text(json.dumps({"rules": [rule]}))
    assert hub.run("admin", "availability", "-f", str(file)).code == 0
    told = hub.run("admin", "availability").out
    assert told.count("ClusterQueue.kueue.x-k8s.io") == 1
    assert "declared" in told
    file.write_text(json.dumps({"rules": [{**rule, "available": "status"}]}))
    refused = hub.run("admin", "availability", "-f", str(file))
    assert refused.code != 0
    assert "rules[0].available" in refused.err
    for text in ("rules: 3", "[", "a"):
        file.write_text(text)
        assert hub.run("admin", "availability", "-f", str(file)).code != 0


def test_retention_is_shown_and_run(hub) -> None:
    """Every table with what bounds it; what is taken away is told."""
    shown = hub.run("admin", "retention", "-o", "json")
    assert {"workloads", "events"} <= {each["table"] for each in json.loads(shown.out)["items"]}
    done = hub.run("admin", "retention", "--run")
    assert (done.code, done.lines[0].startswith("Deleted: ")) == (0, True)
