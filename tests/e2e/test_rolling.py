"""Two hubs on PostgreSQL become another release's, one at a time, while jobs run; and they go back again.

The earlier hubs are of the first landed commit that can share a database, with its newest revision taken out:
the schema of the day before never landed by itself.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hub.store import schema
from tests import databases, stem
from tests.e2e.leaders import leading
from tests.e2e.recorder import Recorder
from tests.e2e.releases import Parts, lacks, tree_of, without_wide_numbers
from tests.e2e.running import REPOSITORY, RunningFleet, equal_members, running_fleet, until
from tests.e2e.upgrading import all_are, started, submit, works_on

EARLIER = "978be29"
BEFORE = "2026_11_23_credentials"  # its schema
NOW = schema.HEAD
LONG = [f"long-{number}" for number in range(6)]
LONG_S = 1200  # longer than all of it takes
HUBS = {"hub", "hub-2"}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.kubectl,
    pytest.mark.timeout(600),
    pytest.mark.skipif(lacks(EARLIER), reason=f"no commit {EARLIER} in this clone"),
    pytest.mark.skipif(
        databases.postgres_is_missing() is not None, reason="no PostgreSQL server on this host"
    ),
]


@dataclass
class Rolling:
    """A fleet of the earlier release, with jobs that run on, and whoever replaces its parts."""

    fleet: RunningFleet
    parts: Parts
    server: databases.Server
    earlier: Path
    before: Any
    stages: list[str]

    def goes_on(self, stage: str) -> None:
        """New jobs end, and what ran runs on as the same Jobs."""
        works_on(self.fleet, stage, LONG, self.before)
        self.stages.append(stage)

    def leader(self, after: int = 0) -> tuple[str, int]:
        """Which hub leads under a later term, and the term."""
        pid, term = leading(self.server, after)
        (name,) = (each for each in HUBS if self.parts.pid(each) == pid)
        return name, term

    def admin(self, *arguments: str) -> tuple[int, Any]:
        """`roadstead admin migrate` of this release: its exit code and answer."""
        command = ("roadstead.cli", "admin", "migrate", *arguments)
        told = ["--database", self.server.address("hub"), "-o", "json"]
        done = stem.run(*command, *told)
        return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr

    def begin(self, hub: str, tree: Path) -> None:
        """Start a hub; returns once it answers."""
        before = self.parts.says(hub).count("ready ")
        self.parts.start(hub, tree)
        until(lambda: self.parts.says(hub).count("ready ") > before, 60, f"{hub} answers")

    def on_it(self) -> set[str]:
        """The revisions of the hubs that run on the database."""
        return set(self.admin("--check")[1]["hubs"])


@pytest.fixture
def rolling(tmp_path: Path) -> Iterator[Rolling]:
    """Two earlier hubs and two agents; six jobs run."""
    with ExitStack() as stack:
        server = stack.enter_context(databases.own_server())
        earlier = without_wide_numbers(stack.enter_context(tree_of(EARLIER, tmp_path)))
        more = ("--replicas=2", f"--database={server.database('hub')}")
        fleet = stack.enter_context(
            running_fleet(tmp_path / "fleet", equal_members(2), source=earlier, more=more)
        )
        members = {name: fleet.kubeconfig(name) for name in ("m1", "m2")}
        seen = stack.enter_context(Recorder(members, "team-a"))
        submit(fleet, LONG, LONG_S)
        all_are(fleet, LONG, "Running")
        before = {name: started(fleet)[name] for name in LONG}
        parts = stack.enter_context(Parts(fleet))
        told = Rolling(fleet, parts, server, earlier, before, [])
        yield told
        short = {f"{stage}-{number}" for stage in told.stages for number in range(4)}
        assert seen.violations(short, 1) == []
        assert {name: len(seen.jobs[name].uids) for name in LONG} == dict.fromkeys(LONG, 1)
        assert {name: len(seen.jobs[name].starts["0"]) for name in LONG} == dict.fromkeys(LONG, 1)


def test_hubs_are_replaced_one_at_a_time_and_taken_back(rolling: Rolling) -> None:
    """The schema first; leaders are killed in between; whichever hub leads, each job runs exactly once."""
    assert rolling.on_it() == {BEFORE}
    code, told = rolling.admin()
    assert (code, told["before"], told["found"], told["state"]) == (0, BEFORE, NOW, "current")
    assert BEFORE in told["beside"]
    rolling.goes_on("expanded")
    replace(rolling)
    take_back(rolling)


def replace(rolling: Rolling) -> None:
    """Each hub by a newer one; the leader is killed while the other is of the other release."""
    parts = rolling.parts
    led, term = rolling.leader()
    (other,) = HUBS - {led}
    parts.replace(other)
    until(lambda: rolling.on_it() == {BEFORE, NOW}, 60, "both run on it")
    rolling.goes_on("mixed")
    parts.kill(led)
    name, term = rolling.leader(after=term)
    assert name == other, "the newer one leads"
    rolling.begin(led, rolling.earlier)  # which may start beside it, too
    assert rolling.on_it() == {BEFORE, NOW}
    rolling.goes_on("newer-leads")
    parts.kill(other)
    name, term = rolling.leader(after=term)
    assert name == led, "the earlier one leads, on the newer schema"
    rolling.begin(other, REPOSITORY)
    rolling.goes_on("earlier-leads")
    parts.replace(led)
    until(lambda: rolling.on_it() == {NOW}, 60, "all are replaced")
    for agent in ("agent-m1", "agent-m2"):
        parts.replace(agent, ROADSTEAD_AGENT_CONSENT="Report")  # namespaces have no id yet
    for hub in HUBS:
        parts.stop(hub)
    for hub in HUBS:  # both at once, as agents come back
        parts.start(hub)
    rolling.goes_on("replaced")


def take_back(rolling: Rolling) -> None:
    """The earlier hubs on the newer schema, then on their own."""
    parts = rolling.parts
    for hub in HUBS:
        parts.stop(hub)
        rolling.begin(hub, rolling.earlier)
    assert rolling.on_it() == {BEFORE}
    rolling.goes_on("back")
    code, why = rolling.admin("--down", BEFORE)
    assert code != 0
    assert "stop them first" in why
    for hub in HUBS:
        parts.stop(hub)
    assert rolling.admin("--down", BEFORE)[1]["found"] == BEFORE
    assert rolling.admin("--check")[0] == 1
    for hub in HUBS:
        rolling.begin(hub, rolling.earlier)
    rolling.goes_on("down")
