"""A cluster leaves and joins again, through the hub cluster's API: what it holds is taken over as it is.

hub cluster: MemberCluster made, deleted and made again ──► hub ◄── agent of `spare`, whose objects stay
"""

from collections.abc import Iterator
from http.client import NOT_FOUND
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest
import yaml

from tests import stem
from tests.e2e.recorder import ApiServer
from tests.e2e.running import RunningFleet, equal_members, running_fleet, until
from tests.soaking import others_soak

pytestmark = [pytest.mark.slow, pytest.mark.kubectl, pytest.mark.timeout(300)]
MEMBER = """
apiVersion: cluster.kubernetes-fleet.io/v1
kind: MemberCluster
metadata: {name: spare}
"""


class Spare:
    """A simulated cluster of its own, and an agent for as long as it is a member."""

    def __init__(self, fleet: RunningFleet, folder: Path) -> None:
        self.fleet, self.folder = fleet, folder
        self.agent: stem.Process | None = None
        self.cluster = self._start("shared.kubesim", "--name=spare", f"--data={folder / 'cluster'}",
                                   f"--kubeconfig={folder / 'kubeconfig'}")  # fmt: skip
        until((folder / "kubeconfig").exists, 60, "the cluster serves")

    def _start(self, module: str, *arguments: str) -> stem.Process:
        return stem.start(module, *arguments, log=self.folder / f"{module}.log")

    def joins(self) -> None:
        """Declared by kubectl, and its agent started with a fresh token."""
        applied(self.fleet, MEMBER)
        token = until(self._token, 30, "it has a token")
        (self.folder / "token").write_text(token)
        credential = self.folder / "credential"
        credential.unlink(missing_ok=True)
        self.agent = self._start(
            "agent",
            f"--hub={self.fleet.server}",
            f"--join-token={self.folder / 'token'}",
            f"--kubeconfig={self.folder / 'kubeconfig'}",
            f"--credential={credential}",
        )
        until(lambda: joined(self.fleet) == "True", 60, "the hub cluster shows that it has joined")

    def _token(self) -> str:
        return self.fleet.cli("clusters", "token", "spare").stdout.strip()

    def leaves(self) -> None:
        """Deleted by kubectl; its agent ends by itself."""
        done = self.fleet.kubectl("delete", "membercluster", "spare", "--timeout=60s")
        assert done.returncode == 0, done.stderr
        assert self.agent is not None
        self.agent.wait(60)

    def kill(self) -> None:
        assert self.agent is not None
        self.agent.kill()
        self.agent.wait()

    def end(self) -> None:
        for each in (self.agent, self.cluster):
            if each is not None and each.poll() is None:
                each.terminate()
                each.wait(30)

    def config(self, namespace: str) -> dict[str, Any]:
        """Its ConfigMap of that namespace; {} where there is none."""
        try:
            return ApiServer(self.folder / "kubeconfig").get(
                f"/api/v1/namespaces/{namespace}/configmaps/c"
            )
        except HTTPError as refusal:
            if refusal.code != NOT_FOUND:
                raise
            return {}

    def options(self) -> str:
        """Delete options as the hub has them."""
        with self.fleet.client() as hub:
            found = hub.find("MemberCluster", "spare", group="cluster.kubernetes-fleet.io")
        return str((found.raw.get("spec") or {}).get("deleteOptions"))

    def version(self, namespace: str) -> tuple[str, str]:
        """uid and resourceVersion: equal ones say that nobody has written it."""
        metadata = self.config(namespace).get("metadata") or {}
        return metadata.get("uid", ""), metadata.get("resourceVersion", "")


@pytest.fixture(scope="module")
def spare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spare]:
    folder = tmp_path_factory.mktemp("joining")
    with running_fleet(folder, equal_members(1), packed=True) as fleet:
        one = Spare(fleet, folder)
        try:
            yield one
        finally:
            one.end()


def applied(fleet: RunningFleet, text: str) -> None:
    done = fleet.kubectl("apply", "-f", "-", stdin=text)
    assert done.returncode == 0, done.stderr


def joined(fleet: RunningFleet) -> str:
    found = fleet.read("/apis/cluster.kubernetes-fleet.io/v1beta1/memberclusters/spare")
    conditions = (found.get("status") or {}).get("conditions") or ()
    return next((each["status"] for each in conditions if each["type"] == "Joined"), "")


def everywhere(name: str, *, namespaced: bool = False, data: str = "b") -> str:
    """Placed on all clusters: a namespace with a ConfigMap, by one placement or by one for each."""
    scope = "NamespaceOnly" if namespaced else "NamespaceWithResources"
    space = {
        "group": "", "version": "v1", "kind": "Namespace", "name": name, "selectionScope": scope,
    }  # fmt: skip
    group = "placement.kubernetes-fleet.io/v1beta1"
    documents: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}},
        {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": name},
            "data": {"a": data},
        },
        {
            "apiVersion": group, "kind": "ClusterResourcePlacement", "metadata": {"name": name},
            "spec": {"resourceSelectors": [space]},
        },
    ]  # fmt: skip
    if namespaced:
        config = {"group": "", "version": "v1", "kind": "ConfigMap", "name": "c"}
        documents.append(
            {
                "apiVersion": group, "kind": "ResourcePlacement",
                "metadata": {"name": "c", "namespace": name},
                "spec": {"resourceSelectors": [config]},
            }
        )  # fmt: skip
    return yaml.safe_dump_all(documents)


def is_applied(fleet: RunningFleet, kind: str, name: str, namespace: str = "default") -> bool:
    """Is it said of `spare` that all of it is applied there?"""
    group = "/apis/placement.kubernetes-fleet.io/v1beta1"
    below = (
        f"namespaces/{namespace}/resourceplacements"
        if kind == "rp"
        else "clusterresourceplacements"
    )
    found = fleet.read(f"{group}/{below}/{name}")
    for each in (found.get("status") or {}).get("placementStatuses") or ():
        if each.get("clusterName") == "spare":
            return any(
                c["type"] == "Applied" and c["status"] == "True" for c in each["conditions"]
            )
    return False


@pytest.mark.parametrize("namespaced", others_soak([False, True], True))
def test_who_leaves_and_joins_again_keeps_what_it_holds(spare: Spare, namespaced: bool) -> None:
    """By either placement: away, the placement does not name it; back, not one object is written."""
    name = f"kept-{namespaced}".lower()
    kind, of = ("rp", "c") if namespaced else ("crp", name)
    spare.joins()
    applied(spare.fleet, everywhere(name, namespaced=namespaced))
    until(lambda: is_applied(spare.fleet, kind, of, name), 60, "it is there")
    before = spare.version(name)
    spare.leaves()
    assert spare.version(name) == before != ("", "")
    until(lambda: not is_applied(spare.fleet, kind, of, name), 30, "it is not named any more")
    spare.joins()
    until(lambda: is_applied(spare.fleet, kind, of, name), 60, "it is named again")
    assert spare.version(name) == before
    spare.leaves()


@pytest.mark.soak  # tests/services/objects/test_leaving.py holds the rule
def test_one_whose_agent_is_dead_can_leave(spare: Spare) -> None:
    """Nobody waits for it; and it joins again like any other."""
    spare.joins()
    applied(spare.fleet, everywhere("dead"))
    until(lambda: is_applied(spare.fleet, "crp", "dead"), 60, "it is there")
    before = spare.version("dead")
    spare.kill()
    spare.leaves()
    spare.joins()
    until(lambda: is_applied(spare.fleet, "crp", "dead"), 60, "it is there again")
    assert spare.version("dead") == before
    spare.leaves()


def test_what_changed_meanwhile_is_changed_in_place(spare: Spare) -> None:
    """The same object with its new content; what no placement has there any more is taken away."""
    spare.joins()
    applied(spare.fleet, everywhere("changes"))
    applied(spare.fleet, everywhere("orphan"))
    until(lambda: is_applied(spare.fleet, "crp", "changes"), 60, "it is there")
    until(lambda: is_applied(spare.fleet, "crp", "orphan"), 60, "the other too")
    before = spare.version("changes")
    spare.leaves()
    applied(spare.fleet, everywhere("changes", data="newer"))
    done = spare.fleet.kubectl("delete", "crp", "orphan", "--timeout=60s")
    assert done.returncode == 0, done.stderr
    assert spare.version("orphan")[0]
    spare.joins()
    until(lambda: spare.config("changes")["data"] == {"a": "newer"}, 60, "it is changed")
    assert spare.version("changes")[0] == before[0]
    until(lambda: not spare.config("orphan"), 60, "the orphan is gone")
    spare.leaves()


def test_one_that_is_to_be_clean_is_emptied_before_it_goes(spare: Spare) -> None:
    """By deleteOptions of its MemberCluster, which stays until nothing is left in the cluster."""
    spare.joins()
    applied(spare.fleet, everywhere("cleaned"))
    until(lambda: is_applied(spare.fleet, "crp", "cleaned"), 60, "it is there")
    applied(spare.fleet, MEMBER + "spec: {deleteOptions: {propagationPolicy: Delete}}\n")
    until(lambda: "Delete" in spare.options(), 30, "the hub knows")
    spare.leaves()
    assert not spare.config("cleaned")
