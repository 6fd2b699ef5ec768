"""One hub as a process for all tests of the command; no fleet."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.process import running
from tests.cli.commands import GUIDE, Reached


@pytest.fixture(autouse=True)
def _no_contexts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where whoever runs the tests has logged in to decides nothing."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture(scope="session")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reached]:
    """A hub with a declared cluster and the guide's objects; without agents every job waits."""
    folder = tmp_path_factory.mktemp("hub")
    # Most of these name no queue.
    with running(folder, env={"ROADSTEAD_INTAKE_UNQUEUED_JOBS": "Default"}) as (_, server):
        (folder / "server").write_text(server + "\n")
        reached = Reached(server, (folder / "admin.token").read_text().strip(), folder)
        with reached.client() as client:
            client.add_cluster("c1", {"region": "north"})
            for path in sorted(GUIDE.glob("*.yaml")):
                client.apply(path.read_bytes())
        yield reached
