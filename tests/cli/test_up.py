"""`roadstead up`: its folder, its children, and how it ends. Whole processes."""

import contextlib
import json
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from shared.kinds.dispatched import DISPATCHED
from tests import stem
from tests.cli.commands import REPOSITORY, environment_without_ours
from tests.e2e.recorder import ApiServer
from tests.e2e.running import RunningFleet, a_job, a_pool, ready_line, until
from tests.soaking import others_soak

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
MEMBERS = [
    {
        "name": "north",
        "labels": {"region": "north"},
        "taints": [{"key": "trial", "value": "yes", "effect": "NoSchedule"}],
        "queueManager": True,
        "pools": [{**a_pool(1, labels={"disk": "fast"}),
                   "taints": [{"key": "gpu", "value": "a", "effect": "NoSchedule"}]}],
    },
    {"name": "south", "pools": [a_pool(2)]},
]  # fmt: skip
CHILDREN = {"hub", "sim-hub", "sim-north", "sim-south", "agent-north", "agent-south"}


def _start(
    folder: Path, members: Path, *more: str, listen: str = "127.0.0.1:0"
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "roadstead.cli", "up", f"--data={folder}"),
            *(f"--listen={listen}", f"--members={members}", *more),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
        env=environment_without_ours(),
    )


@contextlib.contextmanager
def _up(folder: Path, members: Path | None, *more: str) -> Iterator[RunningFleet]:
    """As a fork (tests/stem.py): the modules are loaded already. None: told no members and no address."""
    log = folder.with_name("up.log")
    log.write_bytes(b"")  # of an earlier fleet: it says that it was ready
    given = (f"--members={members}", "--listen=127.0.0.1:0") if members is not None else ()
    options = (f"--data={folder}", *given, *more)
    env = environment_without_ours()
    process = stem.start("roadstead.cli", "up", *options, log=log, env=env, alone=True)
    try:
        until(lambda: ready_line(log) or process.poll() is not None, 120, "it starts")
        assert ready_line(log), log.read_text()
        yield RunningFleet(folder, ready_line(log), process)
    finally:
        process.kill()
        process.wait(60)


@contextlib.contextmanager
def _up_as_command(folder: Path, members: Path) -> Iterator[RunningFleet]:
    """As people start it."""
    process = _start(folder, members)
    try:
        line = process.stdout.readline()
        assert line.startswith("ready http://"), (line, process.stderr.read())
        yield RunningFleet(folder, line.split()[1], process)
    finally:
        if process.returncode is None:
            process.kill()
            process.communicate()


def _end(fleet: RunningFleet, number: int = signal.SIGTERM) -> tuple[int, str]:
    """Signal the supervisor; its exit code, and its output without what it says once it is ready."""
    fleet.process.send_signal(number)
    code = fleet.process.wait(180)
    if isinstance(fleet.process, subprocess.Popen):
        said = "".join(fleet.process.communicate())
    else:
        said = fleet.folder.with_name("up.log").read_text()
    page = f"the page asks for the token in {fleet.folder / 'admin.token'}\n"
    return code, said.replace(f"ready {fleet.server}\n", "").replace(page, "")


def _alive(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def _pids(folder: Path) -> dict[str, int]:
    return {path.name: int(path.read_text()) for path in (folder / "pids").iterdir()}


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("members") / "members.yaml"
    path.write_text(json.dumps({"members": MEMBERS}))
    return path


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory, members: Path) -> Iterator[RunningFleet]:
    """One fleet for the tests that leave it as it was."""
    with _up_as_command(tmp_path_factory.mktemp("fleet") / "data", members) as running:
        yield running


def test_the_folder_has_what_scripts_need(fleet):
    """admin.token is private; there is a kubeconfig for the hub cluster and for each member."""
    token = fleet.folder / "admin.token"
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    assert (fleet.folder / "server").read_text() == fleet.server + "\n"
    for kubeconfig in ("hub.kubeconfig", "members/north.kubeconfig", "members/south.kubeconfig"):
        assert stat.S_IMODE((fleet.folder / kubeconfig).stat().st_mode) == 0o600
        assert "https://127.0.0.1:" in (fleet.folder / kubeconfig).read_text()


@pytest.mark.kubectl
def test_the_hubs_kinds_are_served_once_it_is_ready(tmp_path, members):
    """Whoever applies a queue in the first second is not told that there is no such kind."""
    with _up(tmp_path / "data", members) as fleet, fleet.client() as hub:
        assert hub.hub_cluster().running
        listed = fleet.kubectl("get", "clusterqueues,clusterresourceplacements")
        assert listed.returncode == 0, listed.stderr


def test_every_child_has_a_pid_file(fleet):
    """pids/ has a file for the hub, its cluster, and each member's simulator and agent, all alive."""
    pids = _pids(fleet.folder)
    assert set(pids) == CHILDREN
    assert all(_alive(pid) for pid in pids.values())


def test_members_serve_the_kinds_that_run_as_jobs(fleet):
    """Each kind that the hub dispatches, in the version that it takes: a first JobSet need not wait."""
    server = ApiServer(fleet.kubeconfig("north"))
    served = {
        (api_version, each["kind"])
        for api_version in {api_version for api_version, _ in DISPATCHED}
        for each in server.get(f"/apis/{api_version}")["resources"]
    }
    assert served >= DISPATCHED


def test_a_members_file_describes_clusters_and_nodes(fleet):
    """Labels and taints of the member, nodes with labels, taints and resources reach the hub."""
    with fleet.client() as hub:
        north = hub.cluster("north")
    assert north.labels["region"] == "north"
    assert [t["key"] for t in north.taints] == ["trial"]
    assert north.node_count == 1
    node = fleet.kubectl("get", "nodes", "-o", "json", cluster="north")
    if node.returncode == 0:
        (one,) = json.loads(node.stdout)["items"]
        assert one["metadata"]["labels"]["disk"] == "fast"
        assert one["spec"]["taints"][0]["key"] == "gpu"


@pytest.mark.parametrize("name", others_soak(sorted(CHILDREN), "hub", "agent-north"))
def test_a_killed_child_comes_back(fleet, name):
    """kill -9 of any child: about a second later it runs under a new pid, and the fleet answers."""
    fleet.kill(name)
    assert _alive(fleet.pid(name))

    def ready() -> bool:
        with contextlib.suppress(Exception), fleet.client() as hub:
            return {c.name for c in hub.clusters() if c.ready} == {"north", "south"}
        return False

    until(ready, 60, f"all answer after kill -9 of {name}")


def test_the_command_finds_a_running_fleet(fleet):
    """A job submitted with --wait runs on a member: 0 where it succeeds, 1 where it fails."""
    good = fleet.cli("submit", "--wait", "-", stdin=json.dumps(a_job("good")))
    failing = a_job("failing")
    failing["spec"]["template"]["metadata"]["annotations"]["sim.roadstead.dev/exit-code"] = "3"
    bad = fleet.cli("submit", "--wait", "-", stdin=json.dumps(failing))
    assert (good.returncode, bad.returncode) == (0, 1), good.stderr + bad.stderr
    assert "team-a/good Succeeded on south" in good.stdout
    assert "team-a/failing Failed on south" in bad.stdout


def test_a_folder_in_use_is_refused(fleet, members):
    """A second `up` on the same folder ends with 1, names the process, and harms nothing."""
    before = _pids(fleet.folder)
    process = _start(fleet.folder, members)
    out, err = process.communicate(timeout=180)
    assert (process.returncode, out) == (1, "")
    assert f"is in use by another `roadstead up`, process {fleet.process.pid}" in err
    assert _pids(fleet.folder) == before


def test_a_port_in_use_is_named(tmp_path, members):
    """--listen on a taken port ends at once with 1, the address and what to do; no child is left."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = _start(tmp_path / "data", members, listen=f"127.0.0.1:{port}")
        out, err = process.communicate(timeout=180)
    assert (process.returncode, out) == (1, "")
    assert err.startswith(f"error: cannot listen on 127.0.0.1:{port}: the port is in use")
    assert "--listen" in err
    assert _pids(tmp_path / "data") == {}


def test_a_child_that_can_not_start_is_named(tmp_path, members):
    """A part that ends again and again: 1, its name, exit code, last words and log, not a long wait."""
    (tmp_path / "data" / "hub" / "hub.db").mkdir(parents=True)
    options = (f"--data={tmp_path / 'data'}", f"--members={members}", "--listen=127.0.0.1:0")
    env = environment_without_ours()
    done = stem.run("roadstead.cli", "up", *options, env=env, alone=True, within_s=250)
    assert (done.returncode, done.stdout) == (1, "")
    assert "error: hub ended 3 times, with exit code 3" in done.stderr
    assert str(tmp_path / "data" / "logs" / "hub.log") in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "pack",
    [
        pytest.param((), id="apart"),
        pytest.param(("--pack",), id="packed", marks=pytest.mark.soak),
    ],
)
def test_a_fleet_goes_on_where_it_stopped(tmp_path, members, pack):
    """SIGTERM ends it with 0, silently, without a child left; the next start is told the folder alone, and
    has all jobs, members and objects, on the same ports with the same token. Ctrl-C does the same."""
    with _up(tmp_path / "data", members, *pack) as fleet:
        done = fleet.cli("submit", "--wait", "-", stdin=json.dumps(a_job("kept")))
        assert done.returncode == 0, done.stderr
        pids, server, token = _pids(fleet.folder), fleet.server, (fleet.folder / "admin.token")
        secret, identity = token.read_text(), _identity(fleet)
        assert (set(pids) == {"hub", "pack"}) == bool(pack)
        assert _end(fleet) == (0, "")
    assert not any(map(_alive, pids.values()))
    assert _pids(tmp_path / "data") == {}
    with _up(tmp_path / "data", None, *pack) as fleet:
        assert (fleet.server, token.read_text(), _identity(fleet)) == (server, secret, identity)
        with fleet.client() as hub:
            assert hub.job("team-a/kept").state == "Succeeded"
        done = fleet.cli("submit", "--wait", "-", stdin=json.dumps(a_job("second")))
        assert done.returncode == 0, done.stderr
        pids = _pids(fleet.folder)
        assert _end(fleet, signal.SIGINT) == (0, "")
    assert not any(map(_alive, pids.values()))


@pytest.mark.parametrize(
    "pack",
    [pytest.param((), id="apart", marks=pytest.mark.soak), pytest.param(("--pack",), id="packed")],
)
def test_a_fleet_starts_again_without_a_member_that_was_removed(tmp_path, members, pack):
    """The removal stands, the rest comes up as before, and says how to have the member back."""
    with _up(tmp_path / "data", members, *pack) as fleet:
        token = (fleet.folder / "admin.token").read_text().strip()
        gone = httpx.delete(
            f"{fleet.server}/v1/clusters/south", headers={"Authorization": f"Bearer {token}"}
        )
        assert gone.status_code == 200, gone.text
        assert _end(fleet)[0] == 0
    with _up(tmp_path / "data", members, *pack) as fleet:
        with fleet.client() as hub:
            assert [each.name for each in hub.clusters()] == ["north"]
        assert "agent-south" not in _pids(fleet.folder)
        code, said = _end(fleet)
        assert (code, "south" in said) == (0, True)


def _identity(fleet: RunningFleet) -> list[str]:
    """What tells one simulated member from a fresh one of the same name."""
    with fleet.client() as hub:
        return [cluster.cluster_uid for cluster in hub.clusters()]


def test_no_child_outlives_a_killed_supervisor(tmp_path, members):
    """kill -9 of the supervisor takes all children with it; started at once again, it goes on."""
    with _up_as_command(tmp_path / "data", members) as fleet:
        pids = _pids(fleet.folder)
        _end(fleet, signal.SIGKILL)
        with _up(tmp_path / "data", members) as again:
            assert not any(map(_alive, pids.values()))
            assert again.server == fleet.server
            assert _end(again) == (0, "")


def test_ended_while_starting(tmp_path, members):
    """SIGTERM before `ready` ends it with 0 as well, without a traceback or a child left."""
    process = _start(tmp_path / "data", members)
    until((tmp_path / "data" / "pids" / "sim-south").exists, 60, "children start")
    pids = _pids(tmp_path / "data")
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=180)
    assert (process.returncode, out, err) == (0, "", "")
    assert not any(map(_alive, pids.values()))
