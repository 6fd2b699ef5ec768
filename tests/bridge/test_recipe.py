"""`deploy/hub-cluster/kubeconfig.sh`, with kubectl, against a hub cluster that enforces rights."""

import asyncio
import base64
import os
from pathlib import Path

import pytest

from shared.kube.client import KubeClient
from shared.kubesim.cluster import SimCluster
from tests.bridge.hub_cluster import FIELDS
from tests.bridge.rights import BOUND, HUB, MANIFEST, guarded

pytestmark = [pytest.mark.anyio, pytest.mark.kubectl]
SCRIPT = MANIFEST.parent / "kubeconfig.sh"
ACCOUNT = {
    "apiVersion": "v1",
    "kind": "ServiceAccount",
    "metadata": {"name": "ci", "namespace": "default"},
}


async def run(kubeconfig: Path, *command: str) -> tuple[int, str]:
    """How a command of the administrator ends, and what it prints."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "KUBECONFIG": str(kubeconfig)},
    )
    out, _ = await process.communicate()
    return process.returncode or 0, out.decode()


async def prepared(cluster: SimCluster, tmp_path: Path) -> Path:
    """The rights applied by kubectl; the administrator's kubeconfig."""
    await cluster.start()
    admin = tmp_path / "admin.kubeconfig"
    admin.write_text(cluster.kubeconfig_text())
    code, out = await run(admin, "kubectl", "apply", "-f", str(MANIFEST))
    assert code == 0, out
    return admin


async def test_a_kubeconfig_for_the_hub(tmp_path: Path):
    """Its token is that of the Secret, which the cluster's token controller fills."""
    cluster, rights = guarded()
    try:
        admin = await prepared(cluster, tmp_path)
        code, out = await run(admin, str(SCRIPT))
        assert code != 0, "there is no token yet"
        async with await KubeClient.connect(admin) as kube:
            token = base64.b64encode(f"token-of-{HUB}".encode()).decode()
            place = ("v1", "Secret", "roadstead", "hub-token")
            await kube.merge_patch(*place, {"data": {"token": token}}, field_manager=FIELDS)
        code, out = await run(admin, str(SCRIPT))
        assert code == 0, out
        own = tmp_path / "hub.kubeconfig"
        own.write_text(out)
        assert await run(own, "kubectl", "get", "jobs", "--all-namespaces") == (
            0,
            "No resources found\n",
        )
        code, out = await run(own, "kubectl", "delete", "namespace", "default")
        assert (code, "Forbidden" in out) == (1, True)
        assert {user for user, *_ in rights.denied} == {HUB}
    finally:
        await cluster.stop()


async def test_a_kubeconfig_for_people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Of a service account with role `roadstead-user`: its namespace's Jobs, and nobody else's."""
    monkeypatch.setitem(BOUND, "system:serviceaccount:default:ci", ("roadstead-user", "default"))
    cluster, _ = guarded()
    try:
        admin = await prepared(cluster, tmp_path)
        async with await KubeClient.connect(admin) as kube:
            await kube.create(ACCOUNT, field_manager=FIELDS)
        code, out = await run(admin, str(SCRIPT), "default", "ci")
        assert code == 0, out
        own = tmp_path / "ci.kubeconfig"
        own.write_text(out)
        create = ("kubectl", "create", "job", "one", "--image", "busybox:1.36")
        assert await run(own, *create) == (0, "job.batch/one created\n")
        assert (await run(own, "kubectl", "delete", "job", "one"))[0] == 0
        code, out = await run(own, "kubectl", "get", "jobs", "-n", "kube-system")
        assert (code, "Forbidden" in out) == (1, True)
        assert await run(
            own, "kubectl", "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"
        ) == (
            0,
            "system:serviceaccount:default:ci",
        )
    finally:
        await cluster.stop()
