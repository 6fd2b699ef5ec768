"""The page of how to install, typed word by word on real control planes, from nothing to uninstalled.

Of what a reader replaces by names of their own only those differ here that lead somewhere: the database and
the hub. A kubelet runs what was applied, as processes (kubelet.py); TLS ends before the hubs (ingress.py),
with a certificate of an authority that the images and this machine trust.
"""

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests import databases, stem
from tests.certificates import CA
from tests.charts import programs
from tests.e2e.running import REPOSITORY, until
from tests.house import commands, sources
from tests.realkube import audit
from tests.realkube.ingress import Ingress
from tests.realkube.kubelet import Kubelet
from tests.realkube.plane import NO_COLLECTION, Fleet, Plane
from tests.realkube.processes import member
from tests.realkube.shell import Shell

PAGE: Final = Path("docs/howto/install.md")
DATABASE: Final = "postgresql://roadstead:PASSWORD@postgres.example.com:5432/roadstead"
HUB: Final = "https://roadstead.example.com"
_KINDS: Final = ("clusterqueues,cohorts,resourceflavors,memberclusters,jobs",)
# The blocks that are not typed here, by the heading above them, and why.
NOT_TYPED: Final = {"Install on your clusters": "needs a registry and a package index"}
pytestmark = [
    pytest.mark.realkube,
    pytest.mark.timeout(400),
    pytest.mark.skipif(databases.postgres_is_missing() is not None, reason="no PostgreSQL here"),
]


@dataclass(frozen=True)
class Followed:
    """Somebody follows the page: their shell, and what stands behind it."""

    shell: Shell
    planes: Fleet
    kubelet: Kubelet
    ingress: Ingress
    words: Mapping[str, str]

    def section(self, heading: str) -> str:
        """Type the blocks below a heading; what they said."""
        return "".join(self.shell.type(self._own(block.script)) for block in blocks()[heading])

    def _own(self, script: str) -> str:
        for printed, own in self.words.items():
            script = script.replace(printed, own)
        return script


def blocks() -> dict[str, list[commands.Block]]:
    """The blocks that are typed, by the heading that they stand below."""
    found: dict[str, list[commands.Block]] = {}
    text = sources.text_of(PAGE)
    lines = text.splitlines()
    for block in commands.blocks_of(PAGE, text):
        above = [line for line in lines[: block.line] if re.match(r"#+ \S", line)]
        heading = above[-1].lstrip("# ")
        if block.mark == "run: clusters":
            found.setdefault(heading, []).append(block)
        else:
            assert block.mark == f"not run: {NOT_TYPED[heading]}", block
    return found


@pytest.fixture
def followed(real_fleet: Any, tmp_path: Path) -> Iterator[Followed]:
    """Two clusters as a reader has them, a database, a name with a certificate, and a folder to work in."""
    planes: Fleet = real_fleet([member("east", 2, "16", "64Gi")], audited=True)
    planes.hub.add_pools(member("hub", 1, "8", "32Gi")["pools"])
    _keep_volumes(planes.members["east"], tmp_path)
    work = tmp_path / "work"
    shutil.copytree(REPOSITORY / "deploy", work / "deploy")
    (work / "examples").symlink_to(REPOSITORY / "examples")
    ca = CA()
    trusted = tmp_path / "authorities.pem"
    trusted.write_bytes(ca.pem)
    (tmp_path / "pods").mkdir()
    (tmp_path / "bin").mkdir()
    stem.put_on_path(tmp_path / "bin", "roadstead", "roadstead.cli.root")
    path = [
        tmp_path / "bin",
        REPOSITORY / ".venv/bin",
        programs.program("helm").parent,
        planes.hub.kubectl_path.parent,
    ]
    env = {
        "PATH": ":".join([*map(str, path), os.environ["PATH"]]),
        "KUBECONFIG": str(_contexts(planes, tmp_path / "kubeconfig")),
        "HOME": str(tmp_path),
        "SSL_CERT_FILE": str(trusted),
        **NO_COLLECTION,
    }
    running = (planes.hub, *planes.members.values())
    with ExitStack() as stack:
        server = stack.enter_context(databases.own_server())
        images = {"SSL_CERT_FILE": str(trusted)}
        kubelet = stack.enter_context(Kubelet(running, tmp_path / "pods", images))
        front = Ingress(ca, tmp_path / "front", lambda: kubelet.ready("hub"))
        ingress = stack.enter_context(front)
        shell = stack.enter_context(Shell(work, env))
        words = {DATABASE: server.database("roadstead"), HUB: ingress.url}
        yield Followed(shell, planes, kubelet, ingress, words)


def test_the_page_leads_from_nothing_to_a_finished_job_and_back(followed: Followed) -> None:
    """Every block ends well as it is printed; hubs, member and jobs are then as the page says."""
    east = followed.planes.members["east"]
    try:
        followed.section("1. The hub")
        assert "roadstead-hub-migrate" in " ".join(followed.kubelet.ended)
        assert len(followed.kubelet.ready("hub")) == 2
        assert re.search(r"(?m)^east +Ready ", followed.section("2. The first member"))
        followed.section("3. A job")
        _keep_a_queue(followed)
        ran = east.kubectl("get", "jobs", "-A", "--no-headers")
        assert len(re.findall(r"(?m)^(?:default|team-a) +hello\S* +Complete ", ran)) == 2, ran
        followed.section("Monitor it")
        hubs, agents = followed.kubelet.ready("hub"), followed.kubelet.ready("agent")
        _take_release("0.1.1", followed.shell)
        assert re.search(r"(?m)^east +Ready ", followed.section("Upgrade"))
        assert set(hubs).isdisjoint(followed.kubelet.ready("hub"))
        assert set(agents).isdisjoint(followed.kubelet.ready("agent"))
        assert len(followed.ingress.dealt) == 4, "every hub was asked"
        planes = (followed.planes.hub, east)
        assert [audit.refused(plane.directory) for plane in planes] == [set(), set()]
        assert followed.kubelet.faults == []
        followed.section("Uninstall")
    except AssertionError as failed:
        seen = followed.planes.hub.kubectl("get", "jobs,workloads,events", "-A", "-o", "wide")
        raise AssertionError(f"{failed}\n{seen}\n{followed.kubelet.logs()}") from failed
    # The agent of a cluster that is no member any more ends with 1, unless Helm takes it away before.
    assert set(followed.kubelet.faults) <= {"roadstead-agent-0 ended with 1"}, (
        followed.kubelet.logs()
    )
    for plane in planes:
        left = plane.kubectl("get", "all,clusterroles", "-A", "-o", "name")
        assert "roadstead-" not in left
    held = followed.planes.hub.kubectl("get", *_KINDS, "-A", "-l", "roadstead.dev/origin=rest")
    assert held == ""
    assert set(blocks()) == {
        "1. The hub",
        "2. The first member",
        "3. A job",
        "Monitor it",
        "Upgrade",
        "Uninstall",
    }


def _keep_a_queue(followed: Followed) -> None:
    """What a reader has besides: a queue that came by REST, shown on the hub cluster."""
    queue = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor"}
    written = yaml.safe_dump({**queue, "metadata": {"name": "by-rest"}})
    followed.shell.type(f"roadstead apply -f - <<'EOF'\n{written}EOF")
    kubectl = followed.planes.hub.kubectl
    until(lambda: "by-rest" in kubectl("get", "resourceflavors"), 30, "it is shown")


def _take_release(version: str, shell: Shell) -> None:
    """The checkout of a later release: its charts name its images."""
    shell.type(f"sed -i 's/^appVersion: .*/appVersion: {version}/' deploy/charts/*/Chart.yaml")


def _contexts(planes: Fleet, path: Path) -> Path:
    """One kubeconfig for both: the hub's is the current context, members' are named as they are."""
    merged: dict[str, Any] = {"apiVersion": "v1", "kind": "Config", "current-context": "hub"}
    for name, plane in {"hub": planes.hub, **planes.members}.items():
        config = yaml.safe_load(plane.kubeconfig.read_text())
        for kind in ("cluster", "user"):
            own = {**config[f"{kind}s"][0], "name": name}
            merged.setdefault(f"{kind}s", []).append(own)
        context = {"name": name, "context": {"cluster": name, "user": name}}
        merged.setdefault("contexts", []).append(context)
    path.write_text(yaml.safe_dump(merged))
    return path


def _keep_volumes(plane: Plane, folder: Path) -> None:
    """In the place of a default StorageClass: a volume that a claim without a class finds."""
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": str(folder / "volume")},
    }
    metadata = {"name": "kept"}
    plane.create(
        {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec}
    )
