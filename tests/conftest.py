"""Options and fixtures of the whole suite: which Kubernetes a test talks to, and how thorough it is.

`--kube=real` runs the tests that accept it against real control planes (tests/realkube); without
it the simulated cluster answers. REALKUBE_VERSION names an older Kubernetes (tests/realkube/build.py).
"""

import gc
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import structlog

from tests import databases, dealing, examples, stem
from tests.realkube import agreement, build, plane

examples.load_profile()
# Started in the background of a shell the run ignores Ctrl-C, and so would every process it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
# Tests log unconfigured. By default structlog colours each traceback, with all locals: seconds of CPU apiece.
structlog.configure(
    processors=[
        *structlog.get_config()["processors"][:-1],
        structlog.dev.ConsoleRenderer(
            colors=False, exception_formatter=structlog.dev.plain_traceback
        ),
    ]
)


# The transport of httpx that asks an app directly looks for it at each request, on the disk.
sys.modules.setdefault("sniffio", None)  # None: it is not there


# Folders whose tests are measured (`make test COVERAGE=1`): being measured doubles what a test costs, and
# those of the others, which come by HTTP and the command line, add nothing to what the floors are about.
MEASURED = {
    "agent", "bridge", "domain", "offline", "properties", "services", "simulation", "store",
}  # fmt: skip
# Fixtures that give the cluster which `--kube` names.
ANY_KUBE = {"any_cluster", "cluster_kubeconfig"}
# New objects between two collections: Python's 700 cost a twentieth of a run's CPU.
GARBAGE = 20_000


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register what the suite can be told on its command line."""
    parser.addoption(
        "--kube",
        choices=["sim", "real"],
        default="sim",
        help="what the Kubernetes tests talk to: the simulated cluster, or real control planes",
    )
    parser.addoption(
        "--store",
        choices=[databases.SQLITE, databases.POSTGRES],
        default=databases.SQLITE,
        help="where hubs of tests keep their data; the tests of the store try both in any case",
    )


@pytest.fixture(autouse=True)
def store(request: pytest.FixtureRequest) -> str:
    """The database that `tests.databases.url_of` makes addresses for in this test.

    That of the run, or the one that the test is about alone (marker `store`).
    """
    kind: str = request.config.getoption("--store")
    only = request.node.get_closest_marker("store")
    if only is not None and kind not in only.args:
        (kind,) = only.args
    if kind == databases.POSTGRES and (reason := databases.postgres_is_missing()):
        pytest.skip(reason)
    databases.choose(kind)
    return kind


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Databases go with the folders of the test that they were made for."""
    folder = getattr(item, "funcargs", {}).get("tmp_path")
    yield
    if folder is not None:
        databases.drop(folder)


def pytest_configure(config: pytest.Config) -> None:
    """A run has one stem, with workers or without: loading modules costs CPU seconds."""
    if not hasattr(config, "workerinput"):
        stem.share()


def pytest_unconfigure() -> None:
    """End what the run has started."""
    databases.end()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector away from what the whole run needs: modules and thousands of tests.

    Each worker collects all tests and keeps them: looking through them again and again frees nothing.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(GARBAGE, *gc.get_threshold()[1:])


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip, with one reason each, what this host or this run has no means for."""
    lacking = {
        "realkube": build.go_is_missing() if _real(config) else "needs --kube=real",
        "kubectl": None if shutil.which("kubectl") else "no kubectl on PATH",
        "browser": None if shutil.which("chromium") else "no chromium on PATH",
    }
    for item in items:
        if ANY_KUBE.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("anykube")
        for marker, reason in lacking.items():
            if reason and item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))
        if _real(config) and (newer := item.get_closest_marker("kube_from")):
            _skip_before(item, *newer.args)
        if MEASURED.isdisjoint(item.path.relative_to(config.rootpath).parts):
            item.add_marker("no_cover")
    dealing.longest_first(items)


def _skip_before(item: pytest.Item, lowest: str, reason: str) -> None:
    """Skip what an older Kubernetes than `lowest` does otherwise."""
    major, minor = lowest.split(".")
    if build.version() < (int(major), int(minor)):
        item.add_marker(pytest.mark.skip(reason=f"from Kubernetes {lowest} on: {reason}"))


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> dealing.Dealing | None:
    """Deal tests out one at a time where that is asked for."""
    return dealing.Dealing(config, log) if config.getvalue("dist") == "loadgroup" else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say once for each reason how many tests were skipped for it, rather than where each stands."""
    skipped = terminalreporter.getreports("skipped")
    for reason, count in Counter(each.longrepr[2] for each in skipped).items():
        terminalreporter.write_line(f"skipped {count}: {reason.removeprefix('Skipped: ')}")


def _real(config: pytest.Config) -> bool:
    return bool(config.getoption("--kube") == "real")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run coroutine tests on asyncio: the product runs nowhere else."""
    return "asyncio"


@pytest.fixture(scope="session")
def real_control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[plane.Plane]:
    """One real control plane with two nodes, shared by the whole run."""
    if reason := build.go_is_missing():
        pytest.skip(reason)
    with plane.running_plane("shared", tmp_path_factory.mktemp("plane")) as running:
        running.add_pools(plane.equal_members(1)[0]["pools"])
        yield running


@pytest.fixture(scope="session")
def any_cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[agreement.Cluster]:
    """The cluster that `--kube` names, with two nodes, shared by the whole run."""
    if _real(request.config):
        running: plane.Plane = request.getfixturevalue("real_control_plane")
        yield agreement.Cluster(running.kubeconfig, running.kubectl_path)
        return
    pools = plane.equal_members(1)[0]["pools"]
    with agreement.simulated(tmp_path_factory.mktemp("sim"), pools) as cluster:
        yield cluster


Members = int | Sequence[Mapping[str, Any]]


@pytest.fixture
def real_fleet(tmp_path: Path) -> Iterator[Callable[..., plane.Fleet]]:
    """Start a real hub cluster with members: a number of equal ones, or those of a members file."""
    if reason := build.go_is_missing():
        pytest.skip(reason)
    fleets: list[plane.Fleet] = []

    def start(members: Members, *, audited: bool = False) -> plane.Fleet:
        wanted = plane.equal_members(members) if isinstance(members, int) else members
        folder = tmp_path / f"fleet-{len(fleets)}"
        fleets.append(plane.start_fleet(wanted, folder, audited=audited))
        return fleets[-1]

    yield start
    for fleet in fleets:
        fleet.stop()
