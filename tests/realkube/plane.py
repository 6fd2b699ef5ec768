"""Real control planes as Python objects: start one, wait until it answers, stop it.

A `Plane` is one `realkube up` process and what it prints and keeps in its directory; a `Fleet` is a
hub cluster and its members, started side by side. Fixtures over both stand in tests/conftest.py.
A plane holds the read end of our pipe and stops when it closes, so none outlives its test run,
however that ends.
"""

import contextlib
import dataclasses
import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from roadstead.cli import ports
from tests import waiting
from tests.e2e.recorder import ApiServer
from tests.realkube import audit, build, nodes

START_TIMEOUT_S = 120
STOP_TIMEOUT_S = 30
NO_COLLECTION = {"GOGC": "off"}  # kubectl ends before it pays: a fifth less CPU
# For programs in Go that go on: memory for CPU. A plane costs a fifth less under work, and a third less idle:
# most of that is threads that wake each other. The limit is soft, for each process.
THRIFT = {"GOGC": "400", "GOMEMLIMIT": "500MiB", "GOMAXPROCS": "1"}


class PlaneError(Exception):
    """A control plane did not start, or kubectl refused; the text holds its last words."""


class Plane:
    """One control plane on loopback, with RBAC on and KWOK in the place of kubelets."""

    def __init__(
        self, name: str, directory: Path, programs: build.Programs, *, audited: bool = False
    ) -> None:
        """Start the processes; they are usable after `await_ready`.

        `audited`: what accounts in the namespace roadstead ask for is written down (audit.py).
        """
        self.name = name
        self._audited = audited
        self.directory = directory
        self.kubeconfig = directory / "admin.kubeconfig"
        self._programs = programs
        directory.mkdir(parents=True, exist_ok=True)
        self._start()

    def _start(self) -> None:
        command = [str(self._programs.realkube), "up", "--hold"]
        command += ["--dir", str(self.directory), "--kwok", str(self._programs.kwok)]
        if self._audited:
            command += ["--apiserver-args", audit.flags(self.directory)]
        with (self.directory / "up.log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, **THRIFT},
                start_new_session=True,  # Ctrl-C reaches the test run alone, which then stops us
            )

    def await_ready(self) -> None:
        """Return when the API server, controllers and scheduler run; PlaneError otherwise."""
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            if not selector.select(START_TIMEOUT_S) or not self._process.stdout.readline():
                last_words = (self.directory / "up.log").read_text()[-2000:]
                self.stop()
                raise PlaneError(f"{self.name} did not start: {last_words}")

    @property
    def url(self) -> str:
        """The address of the API server."""
        port = json.loads((self.directory / "plane.json").read_text())["apiserverPort"]
        return f"https://127.0.0.1:{port}"

    @property
    def kubectl_path(self) -> Path:
        """The kubectl that this plane is driven with."""
        return self._programs.kubectl

    def pid(self, component: str) -> int:
        """The process id of etcd, kube-apiserver, kube-controller-manager, kube-scheduler or kwok."""
        return int((self.directory / f"{component}.pid").read_text())

    def stop(self) -> None:
        """End all processes and keep the data; a second call does nothing."""
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()  # its children ask the kernel to die with it
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def kill(self) -> None:
        """End every process at once, as a power cut would; `restart` goes on with the data."""
        os.kill(self._process.pid, signal.SIGKILL)
        self.stop()
        await_true(self._is_let_go, what=f"the ports of {self.name} are free")

    def _is_let_go(self) -> bool:
        """Whether its ports can be listened on: processes that die with their parent do so a moment later."""
        told = json.loads((self.directory / "plane.json").read_text())
        theirs = [port for name, port in told.items() if name.endswith("Port")]
        return not any(ports.why_taken("127.0.0.1", port) for port in theirs)

    def restart(self) -> None:
        """Start again on the same data, ports and credentials, after `stop` or `kill`."""
        self._start()
        self.await_ready()

    def kubectl(
        self, *arguments: str, stdin: str | None = None, kubeconfig: Path | None = None
    ) -> str:
        """Run kubectl, as the administrator unless told otherwise, and return what it prints."""
        as_whom = str(kubeconfig or self.kubeconfig)
        done = subprocess.run(
            [str(self._programs.kubectl), "--kubeconfig", as_whom, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, **NO_COLLECTION},
        )
        if done.returncode:
            raise PlaneError(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def find(self, resource: str, name: str = "", namespace: str = "") -> dict[str, Any]:
        """Get an object or a list, of `deployments.v1.apps` for instance; {} if the object is absent.

        Polls use this: a kubectl for each look costs a tenth of a CPU second.
        """
        return ApiServer(self.kubeconfig).find(resource, name, namespace)

    def refusal(self, *arguments: str, stdin: str | None = None) -> str:
        """What kubectl prints where it is refused; "" where it is not."""
        try:
            self.kubectl(*arguments, stdin=stdin)
        except PlaneError as refused:
            return str(refused)
        return ""

    def create(self, *objects: Mapping[str, Any], manager: str = "kubectl-create") -> None:
        """Create objects of any kind, in order; `manager` is what their managed fields name."""
        listed = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        self.kubectl("create", "-f", "-", f"--field-manager={manager}", stdin=json.dumps(listed))

    def add_pools(self, pools: Sequence[Mapping[str, Any]]) -> None:
        """Register the fake nodes of `pools` (as in a members file) and wait until they are Ready."""
        manifests = nodes.of_pools(pools)
        if manifests:
            self.create(*manifests)
            self.kubectl("wait", "--for=condition=Ready", "node", "--all", "--timeout=50s")

    def kubeconfig_for(
        self, account: str, *, cluster_role: str, namespace: str = "default"
    ) -> Path:
        """A kubeconfig whose bearer is a new service account bound to an existing ClusterRole.

        RBAC is on: what the role does not grant is refused, as in a production cluster.
        """
        self.kubectl("create", "serviceaccount", account, "-n", namespace)
        self.kubectl(
            "create", "clusterrolebinding", f"{namespace}-{account}",
            f"--clusterrole={cluster_role}", f"--serviceaccount={namespace}:{account}",
        )  # fmt: skip
        return self.kubeconfig_of(account, namespace=namespace)

    def kubeconfig_of(self, account: str, *, namespace: str = "default") -> Path:
        """A kubeconfig whose bearer is a service account that is there already."""
        token = self.kubectl("create", "token", account, "-n", namespace).strip()
        config = yaml.safe_load(self.kubeconfig.read_text())
        config["users"][0]["user"] = {"token": token}
        path = self.directory / f"{namespace}-{account}.kubeconfig"
        path.write_text(yaml.safe_dump(config))
        path.chmod(0o600)
        return path


@dataclasses.dataclass(frozen=True)
class Fleet:
    """A hub cluster without nodes, and member clusters by name."""

    hub: Plane
    members: dict[str, Plane]

    def stop(self) -> None:
        """Stop every plane."""
        for plane in (self.hub, *self.members.values()):
            plane.stop()


@contextlib.contextmanager
def running_plane(name: str, directory: Path) -> Iterator[Plane]:
    """One plane for the length of a `with` block."""
    plane = Plane(name, directory, build.programs())
    try:
        plane.await_ready()
        yield plane
    finally:
        plane.stop()


def start_fleet(
    members: Sequence[Mapping[str, Any]], directory: Path, *, audited: bool = False
) -> Fleet:
    """Start a hub cluster and `members` (as in a members file) side by side."""
    programs = build.programs()
    planes = {
        name: Plane(name, directory / name, programs, audited=audited)
        for name in ("hub", *(member["name"] for member in members))
    }
    fleet = Fleet(hub=planes.pop("hub"), members=planes)
    try:
        for plane in (fleet.hub, *planes.values()):
            plane.await_ready()
        for member in members:
            planes[member["name"]].add_pools(member["pools"])
    except BaseException:
        fleet.stop()
        raise
    return fleet


def equal_members(count: int) -> list[dict[str, Any]]:
    """Members that differ in their names alone: two nodes of 8 CPUs each."""
    pool = {
        "name": "general",
        "count": 2,
        "allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"},
    }
    return [{"name": f"member-{number}", "pools": [pool]} for number in range(1, count + 1)]


def await_true(question: Any, *, what: str, timeout_s: float = 30) -> None:
    """Ask `question()` until it answers truthily; PlaneError naming `what` when time is up."""
    deadline = time.monotonic() + timeout_s
    while not question():
        if time.monotonic() > deadline:
            raise PlaneError(f"after {timeout_s:g} s still not so: {what}")
        waiting.pause(0.1, why="between two looks")
