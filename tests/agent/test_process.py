"""The agent as a process and its small web server."""

import asyncio
import os
import signal
import sys

import httpx
import pytest
import structlog.testing

from agent import release
from agent.config import GATE_OPTIONS, from_arguments, unread
from agent.hub import credential
from agent.hub.credential import Credential
from agent.main import EXIT_REFUSED, Agent
from agent.metrics import Meters, MetricsServer

pytestmark = pytest.mark.anyio


def test_flags_come_before_variables_and_variables_before_defaults(tmp_path):
    """Every flag has a ROADSTEAD_ variable."""
    environ = {
        "ROADSTEAD_HUB": "https://a",
        "ROADSTEAD_CREDENTIAL": "c",
        "ROADSTEAD_KUBE_QPS": "5",
    }
    settings, with_parent = from_arguments(["--hub", "https://b"], environ)
    assert (settings.hub_url, str(settings.credential)) == ("https://b", "c")
    assert (settings.kube_qps, settings.kubeconfig, with_parent) == (5.0, None, False)


def test_a_variable_of_the_policy_that_nothing_reads_is_named():
    """A misspelt one would leave open what it was to close; a hub's in the same environment are no matter."""
    known = {
        "ROADSTEAD_AGENT_" + name.upper().replace("-", "_"): "" for name, _, _ in GATE_OPTIONS
    }
    assert unread({**known, "ROADSTEAD_API_X": ""}) == []
    assert unread({**known, "ROADSTEAD_AGENT_NAMESPACE": "a"}) == ["ROADSTEAD_AGENT_NAMESPACE"]


@pytest.mark.parametrize("hub", ["http://hub:8080", "http://10.0.0.1", "http://[2001:db8::1]:80"])
def test_a_hub_elsewhere_is_not_spoken_to_in_clear(hub, capsys):
    """One line says why; a flag or its variable says that the way is safe."""
    with pytest.raises(SystemExit) as ended:
        from_arguments(["--hub", hub, "--credential", "c"], {})
    assert ended.value.code == 2
    assert "in clear" in capsys.readouterr().err
    flagged = from_arguments(["--hub", hub, "--credential", "c", "--hub-plain-http"], {})
    variable = {"ROADSTEAD_HUB_PLAIN_HTTP": "1"}
    assert flagged == from_arguments(["--hub", hub, "--credential", "c"], variable)


@pytest.mark.parametrize("hub", ["http://127.0.0.1:8080", "http://localhost", "http://[::1]:1"])
def test_a_hub_on_the_own_machine_may_be_spoken_to_in_clear(hub):
    """Nothing leaves the machine."""
    assert from_arguments(["--hub", hub, "--credential", "c"], {})[0].hub_url == hub


@pytest.mark.parametrize("hub", ["hub:8080", "ftp://hub", "https://", "127.0.0.1"])
def test_what_is_no_address_is_refused(hub, capsys):
    """The agent does not start with what it can never reach."""
    with pytest.raises(SystemExit):
        from_arguments(["--hub", hub, "--credential", "c"], {})
    assert "expected https://HOST" in capsys.readouterr().err


def test_a_credential_is_what_was_saved_and_never_printed(tmp_path):
    """The file holds the secret for its owner alone; a repr does not show it."""
    path = tmp_path / "deep" / "credential"
    credential.save(path, Credential("m", "id.hush", "hub-1"))
    assert credential.load(path) == Credential("m", "id.hush", "hub-1")
    assert path.stat().st_mode & 0o777 == 0o600
    assert "hush" not in repr(credential.load(path))
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_is_no_credential_is_refused(tmp_path):
    """Rather than registering again over it."""
    path = tmp_path / "credential"
    path.write_text("what is this")
    with pytest.raises(ValueError, match="no agent credential"):
        credential.load(path)


async def test_metrics_and_health_are_served():
    """/metrics for Prometheus, /healthz for the kubelet: 503 once the loops have stopped."""
    alive = [True]
    meters = Meters()
    meters.steps.labels("Create").inc()
    server = MetricsServer(meters, lambda: alive[0])
    port = await server.start("127.0.0.1", 0)
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        page = await client.get("/metrics")
        assert 'roadstead_agent_steps_total{step="Create"} 1.0' in page.text
        assert page.headers["Content-Type"].startswith("text/plain; version=")
        paths = ("/healthz", "/livez", "/readyz")
        assert [(await client.get(path)).status_code for path in paths] == [200] * 3
        alive[0] = False
        assert [(await client.get(path)).status_code for path in paths] == [503] * 3
        assert (await client.get("/else")).status_code == 404
    await server.close()


@pytest.mark.slow
async def test_a_process_without_an_identity_says_so_and_ends_with_code_1(member):
    """No credential and no join token: a person has to do something."""
    arguments = ["--hub", "http://127.0.0.1:1", "--credential", str(member.folder / "none")]
    process = await started(member, *arguments)
    _, told = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 1
    assert b"no join token" in told


@pytest.mark.slow
async def test_a_process_ends_cleanly_on_sigterm(member):
    """SIGTERM while the hub can not be reached ends it with code 0."""
    credential.save(member.folder / "c", Credential("m", "id.s", "hub-1"))
    arguments = ["--hub", "http://127.0.0.1:1", "--credential", str(member.folder / "c")]
    process = await started(member, *arguments)
    assert process.stderr is not None
    while b"sync.failed" not in await asyncio.wait_for(process.stderr.readline(), 60):
        pass
    process.send_signal(signal.SIGTERM)
    await asyncio.wait_for(process.communicate(), 30)
    assert process.returncode == 0


async def started(member, *arguments):
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "agent",
        "--kubeconfig",
        str(member.folder / "kubeconfig"),
        *arguments,
        stderr=asyncio.subprocess.PIPE,
        env={k: v for k, v in os.environ.items() if not k.startswith("ROADSTEAD_")},
    )


DOWN = """
apiVersion: v1
kind: Config
current-context: a
contexts: [{name: a, context: {cluster: a, user: a}}]
clusters: [{name: a, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: a, user: {}}]
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "can not be used: there is no such file"),
        ("", "can not be used: "),
        ("a: [b\n\t", "can not be used: "),
        (DOWN, "Cannot connect to host 127.0.0.1:1"),
    ],
    ids=["missing", "empty", "no-yaml", "down"],
)
def test_a_member_that_can_not_be_reached_is_one_line(tmp_path, monkeypatch, capsys, text, said):
    """The command that releases Jobs names the kubeconfig, or the server, and what is wrong with it."""
    path = tmp_path / "kubeconfig"
    if text is not None:
        path.write_text(text)
    monkeypatch.setattr(sys, "argv", ["release", "--kubeconfig", str(path)])
    assert release.main() == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert said in line


async def test_an_agent_without_kubeconfig_is_refused(tmp_path):
    """It ends as one that a person has to help, and names the file."""
    arguments = ["--hub", "http://127.0.0.1:1", "--credential", str(tmp_path / "credential")]
    settings, _ = from_arguments([*arguments, "--kubeconfig", str(tmp_path / "nope")], {})
    logs = structlog.testing.CapturingLogger()
    agent = Agent(settings)
    agent._log = structlog.wrap_logger(logs, processors=[])
    assert await agent.run() == EXIT_REFUSED
    assert str(tmp_path / "nope") in logs.calls[-1].kwargs["error"]
