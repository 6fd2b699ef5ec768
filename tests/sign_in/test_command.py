"""`roadstead login --oidc` and `logout` at a hub process and a provider: by device, refreshed, revoked."""

import json
import stat
from collections.abc import Iterator
from dataclasses import replace

import pytest
from starlette.responses import JSONResponse

from roadstead import contexts
from roadstead.errors import NotAllowed, RoadsteadError, TimedOut, Unreachable
from roadstead.sign_in import Asked, ProviderClient
from tests.api.process import admin, running
from tests.cli.commands import run
from tests.cli.scripted import Answer, answering
from tests.sign_in.provider import CLI_CLIENT, CLIENT, LocalProvider, local_provider


@pytest.fixture
def provider() -> Iterator[LocalProvider]:
    with local_provider() as found:
        yield found


@pytest.fixture(autouse=True)
def _alone(tmp_path, monkeypatch):
    """No variable says anything, and nobody is logged in."""
    for each in ("SERVER", "TOKEN", "CA", "DATA", "CONTEXT", "NAMESPACE"):
        monkeypatch.delenv(f"ROADSTEAD_{each}", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


@pytest.fixture
def _set(provider, monkeypatch):
    given = {
        "ISSUER": provider.issuer,
        "CLIENT_ID": CLIENT,
        "CLI_CLIENT_ID": CLI_CLIENT,
        "USERNAME_CLAIM": "email",
    }
    for name, value in given.items():
        monkeypatch.setenv(f"ROADSTEAD_OIDC_{name}", value)


def ended() -> None:
    """As if the token that is kept had ended by now."""
    kept = contexts.load()
    contexts.save(kept.having("lab", replace(kept.named["lab"], ends="1")))


@pytest.mark.usefixtures("_set")
def test_a_scientist_signs_in_works_on_and_signs_out(tmp_path, provider):
    """A code is printed and typed in elsewhere; what ends is refreshed unseen; groups change with it."""
    provider.approved = True
    with running(tmp_path / "hub") as (_, address), admin(tmp_path / "hub", address) as root:
        binding = {"role": "viewer", "groups": ["oidc:physics"], "namespaces": ["team-a"]}
        root.put("/v1/access/bindings/physics", json=binding)
        done = run("login", "--oidc", "--server", address, "--name", "lab")
        assert done.code == 0, done.err
        assert f"open {provider.issuer}/type-it-here\nand enter WDJB-MJHT\n" in done.err
        assert done.out == f"logged in to {address} as oidc:ana@example.org, context lab\n"
        file = contexts.path()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        held = contexts.load().named["lab"]
        assert held.refresh not in done.out + done.err + repr(held)
        assert run("jobs", "ls").code == 4  # no role yet
        provider.person["groups"] = ["physics"]
        ended()
        assert run("jobs", "ls").code == 0
        assert run("--context", "lab", "jobs", "ls").code == 0
        assert provider.asked.count("/token") == 2
        again = contexts.load().named["lab"]
        assert again.token != held.token
        provider.refreshes.clear()  # taken back by somebody
        ended()
        refused = run("jobs", "ls")
        assert (refused.code, "sign in again: roadstead login --oidc" in refused.err) == (4, True)
        assert run("login", "--oidc", "--server", address, "--name", "lab").code == 0
        assert len(provider.refreshes) == 1
        assert run("logout").out == "logged out of lab\n"
        assert provider.refreshes == set()
        assert contexts.load().named == {}
        assert run("logout").code == 2


def test_a_hub_without_a_provider_says_so():
    """And nothing is kept."""
    with answering(Answer({"oidc": None})) as script:
        done = run("login", "--oidc", "--server", script.address)
        assert (done.code, "no sign-in provider" in done.err) == (1, True)
        assert "Authorization" not in script.headers[0]
    told = {"issuer": "http://login.example.org", "clientId": "c", "scopes": "openid"}
    with answering(Answer({"oidc": told})) as script:
        done = run("login", "--oidc", "--server", script.address)
    assert (done.code, "https" in done.err) == (1, True)
    assert contexts.load().named == {}


def test_one_way_at_a_time_and_a_warning_in_clear(tmp_path):
    """--oidc beside a token is wrong usage; a hub in clear elsewhere is warned of before anything is sent."""
    token = tmp_path / "token"
    token.write_text("a.b")
    done = run("login", "--oidc", "--token-file", str(token), "--server", "http://localhost")
    assert done.code == 2
    done = run("login", "--token-file", str(token), "--server", "http://hub.invalid")
    assert (done.code, "without encryption" in done.err) == (5, True)


def test_the_wait_is_bounded_and_gives_the_provider_time(provider):
    """Pending is asked again, slow_down more slowly, and no longer than the code is good."""
    client = ProviderClient(provider.issuer, CLI_CLIENT)
    slept: list[float] = []
    asked = replace(client.begin("openid"), interval_s=5, kept_s=40)
    provider.slow_downs = 1
    with pytest.raises(TimedOut):
        client.wait(asked, slept.append)
    assert slept == [5, 10, 10, 10, 10]
    provider.answers["/token"] = JSONResponse({"error": "access_denied"}, 400)
    with pytest.raises(NotAllowed, match="access_denied"):
        client.wait(asked, slept.append)
    provider.answers["/token"] = JSONResponse({}, 503)
    with pytest.raises(Unreachable):
        client.wait(asked, slept.append)


def test_what_a_hostile_provider_says(provider):
    """Addresses in clear, endless times and texts are neither followed nor waited for."""
    client = ProviderClient(provider.issuer, CLI_CLIENT)
    told = {"user_code": "a", "device_code": "d", "interval": 1e30, "expires_in": -1}
    for address in ("javascript:alert(1)", "http://example.org/", "https://e\x1b[2Jxample.org"):
        provider.answers["/device"] = JSONResponse({**told, "verification_uri": address})
        with pytest.raises(RoadsteadError, match="https"):
            client.begin("openid")
    provider.answers["/device"] = JSONResponse({**told, "verification_uri": provider.issuer})
    assert client.begin("openid") == Asked(provider.issuer, "a", "d", 5.0, 1800.0)
    provider.answers["/device"] = JSONResponse({"x": "y" * (2 << 20)})
    with pytest.raises(Unreachable, match="too large"):
        client.begin("openid")
    elsewhere = {"issuer": "https://example.org", "token_endpoint": provider.issuer}
    provider.answers["/.well-known/openid-configuration"] = JSONResponse(elsewhere)
    with pytest.raises(Unreachable, match="is not"):
        ProviderClient(provider.issuer, CLI_CLIENT).refresh("r")


def test_a_file_of_a_release_before_is_read_and_written_as_before():
    """Contexts without a provider look as they did."""
    contexts.save(contexts.Contexts("a", {"a": contexts.Stored("http://a", "t")}))
    told = json.loads(contexts.path().read_text())["contexts"]["a"]
    assert told == {"server": "http://a", "token": "t", "ca": "", "namespace": ""}
