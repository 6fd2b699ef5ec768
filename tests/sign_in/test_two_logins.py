"""Two people of one hub and one provider in one file: each context is refreshed by itself, and once."""

import asyncio
import multiprocessing
import threading
from dataclasses import replace
from typing import Any

import pytest
from starlette.responses import JSONResponse

from roadstead import AsyncClient, Client, contexts
from roadstead.context import renewal_of, resolve
from roadstead.contexts import Contexts, Stored, subject_of
from roadstead.errors import NotAllowed
from roadstead.sign_in import Renewal
from tests.cli.commands import run
from tests.cli.scripted import answering, items
from tests.sign_in.provider import CLI_CLIENT, LocalProvider, local_provider

SERVER = "http://127.0.0.1:9"


@pytest.fixture
def provider():
    with local_provider() as found:
        yield found


@pytest.fixture(autouse=True)
def _alone(tmp_path, monkeypatch):
    """No variable selects a hub."""
    for each in ("SERVER", "TOKEN", "CA", "DATA", "CONTEXT", "NAMESPACE"):
        monkeypatch.delenv(f"ROADSTEAD_{each}", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


def signed_in(provider: LocalProvider, name: str, server: str = SERVER, ends: str = "1") -> Stored:
    """A login of a person, whose token has ended unless told otherwise."""
    person: dict[str, Any] = {"sub": name, "email": f"{name}@example.org"}
    refresh = f"first-of-{name}"
    provider.refreshes.add(refresh)
    provider.whose[refresh] = person
    token = provider.token(**person, aud=CLI_CLIENT)
    return Stored(server, token, "", "", provider.issuer, CLI_CLIENT, "", refresh, ends, name)


def subject(token: str) -> str:
    return (subject_of(token) or ("", ""))[1]


def test_a_token_that_has_ended_is_refreshed_in_its_own_context(provider):
    """Bob's requests carry bob's new token, though alice's context is first and her token is good."""
    alice = signed_in(provider, "alice", ends="99999999999")
    bob = signed_in(provider, "bob")
    contexts.save(Contexts("bob", {"alice": alice, "bob": bob}))
    renewed = renewal_of(resolve(name="bob"))
    assert renewed is not None
    assert subject(renewed()) == "bob"
    kept = contexts.load().named
    assert kept["alice"] == alice
    assert subject(kept["bob"].token) == "bob"
    assert kept["bob"].refresh != bob.refresh


def test_the_hub_is_sent_the_token_of_the_named_context(provider):
    """By the command line, and by both clients of the SDK."""
    with answering(items()) as hub:
        both = {each: signed_in(provider, each, hub.address) for each in ("alice", "bob")}
        contexts.save(Contexts("alice", both))
        assert run("--context", "bob", "jobs", "ls").code == 0
        with Client(context="bob") as client:
            list(client.jobs())

        async def listed() -> None:
            async with AsyncClient(context="bob") as awaited:
                _ = [each async for each in awaited.jobs()]

        asyncio.run(listed())
    sent = [each["Authorization"].removeprefix("Bearer ") for each in hub.headers]
    assert [subject(each) for each in sent] == ["bob"] * 3
    assert contexts.load().named["alice"] == both["alice"]


def test_a_context_that_is_another_persons_by_now_is_refused(provider):
    """A command that runs on while another person logs in under that name never sends their token."""
    bob = signed_in(provider, "bob")
    renewal = Renewal("lab", bob)
    contexts.save(Contexts("lab", {"lab": signed_in(provider, "carol", ends="99999999999")}))
    with pytest.raises(NotAllowed, match="another login"):
        renewal.token()


def test_a_context_of_another_hub_by_now_is_refused(provider):
    """The token of a login at B never goes to A."""
    renewal = Renewal("lab", signed_in(provider, "bob"))
    contexts.save(Contexts("lab", {"lab": signed_in(provider, "bob", "http://127.0.0.1:10")}))
    with pytest.raises(NotAllowed, match="another login"):
        renewal.token()


def test_a_context_that_was_removed_is_not_written_again(provider):
    """A logout while a command runs stays one."""
    renewal = Renewal("lab", signed_in(provider, "bob"))
    contexts.save(Contexts())
    with pytest.raises(NotAllowed, match="removed"):
        renewal.token()
    assert contexts.load() == Contexts()


def test_the_same_person_who_logs_in_again_is_not_refused(provider):
    """A command that runs on takes the token of the new login, and asks the provider for none."""
    renewal = Renewal("lab", signed_in(provider, "bob"))
    again = signed_in(provider, "bob", ends="99999999999")
    contexts.save(Contexts("lab", {"lab": again}))
    assert renewal.token() == again.token
    assert "/token" not in provider.asked


def test_a_provider_that_gives_another_persons_token_is_refused(provider):
    """Nothing of it is written."""
    bob = signed_in(provider, "bob")
    contexts.save(Contexts("lab", {"lab": bob}))
    told = {"id_token": provider.token(sub="carol", aud=CLI_CLIENT), "refresh_token": "r"}
    provider.answers["/token"] = JSONResponse(told)
    with pytest.raises(NotAllowed, match="another person"):
        Renewal("lab", bob).token()
    assert contexts.load().named == {"lab": bob}


def _refresh(name: str, gate: "multiprocessing.synchronize.Barrier") -> None:
    renewed = renewal_of(resolve(name=name))
    assert renewed is not None
    gate.wait(30)
    assert subject(renewed()) == name


def test_processes_that_refresh_at_once_lose_no_refresh_token(provider):
    """Each refresh token is good once: each context asks once, and both keep the token that is good now."""
    both = {each: signed_in(provider, each) for each in ("alice", "bob")}
    contexts.save(Contexts("alice", both))
    forked = multiprocessing.get_context("spawn")
    gate = forked.Barrier(4)
    names = ("alice", "bob", "alice", "bob")
    workers = [forked.Process(target=_refresh, args=(each, gate)) for each in names]
    for each in workers:
        each.start()
    for each in workers:
        each.join(60)
    assert [each.exitcode for each in workers] == [0] * 4
    assert provider.asked.count("/token") == 2
    kept = contexts.load().named
    assert {each.refresh for each in kept.values()} == provider.refreshes
    assert {name: subject(each.token) for name, each in kept.items()} == {
        "alice": "alice",
        "bob": "bob",
    }


def test_an_edit_while_a_refresh_is_under_way_keeps_both(provider):
    """A namespace that is set while the provider is asked, and the token that it gives, both stay."""
    bob = signed_in(provider, "bob")
    contexts.save(Contexts("lab", {"lab": bob}))
    renewal = Renewal("lab", bob)
    original = provider.__class__._tokens

    def slow(self, *given, **claims):
        run("context", "set-namespace", "team-b", "--context", "lab")
        return original(self, *given, **claims)

    provider.__class__._tokens = slow
    try:
        renewal.token()
    finally:
        provider.__class__._tokens = original
    held = contexts.load().named["lab"]
    assert (held.namespace, held.refresh in provider.refreshes) == ("team-b", True)


def test_threads_of_one_client_refresh_once(provider):
    """A client that threads share asks the provider once."""
    contexts.save(Contexts("lab", {"lab": signed_in(provider, "bob")}))
    renewed = renewal_of(resolve())
    assert renewed is not None
    threads = [threading.Thread(target=renewed) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(30)
    assert provider.asked.count("/token") == 1


def test_a_login_of_an_older_release_is_known_by_its_subject(provider):
    """Its file says no person: issuer and subject of the token tell one from another."""
    bob, carol = (replace(signed_in(provider, each), user="") for each in ("bob", "carol"))
    assert bob.is_same_login(replace(signed_in(provider, "bob"), user="bob"))
    assert not bob.is_same_login(carol)
    assert not replace(bob, token="").is_same_login(replace(carol, token=""))
