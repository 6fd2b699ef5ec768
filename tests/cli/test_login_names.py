"""`roadstead login` to several hubs, by several people: each login is a context of its own."""

import pytest

from roadstead import contexts
from roadstead.context import resolve
from roadstead.contexts import Contexts, Stored
from tests.cli.commands import run
from tests.cli.scripted import Answer, Scripted, answering


@pytest.fixture(autouse=True)
def _alone(tmp_path, monkeypatch):
    """No variable selects a hub, and nobody is logged in."""
    for each in ("SERVER", "TOKEN", "CA", "DATA", "CONTEXT", "NAMESPACE"):
        monkeypatch.delenv(f"ROADSTEAD_{each}", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def hubs():
    """Two hubs on one host; each takes the token NAME as that of the person NAME."""
    with answering() as one, answering() as other:
        yield one, other


@pytest.fixture
def login(tmp_path):
    """Log a person in at a hub."""

    def run_login(hub: Scripted, person: str, *more: str):
        file = tmp_path / f"token-of-{person}"
        file.write_text(f"t-{person}")
        who = {"name": person, "role": "administrator", "groups": [], "roles": []}
        hub.answers[:] = [Answer(who)]
        return run("login", "--server", hub.address, "--token-file", str(file), *more)

    return run_login


def host(hub: Scripted) -> str:
    return hub.address.removeprefix("http://")


def test_two_hubs_on_one_host_are_two_contexts(hubs, login):
    """The name holds the port and the person, and each token stays with its own server."""
    one, other = hubs
    assert login(one, "ana").out == f"logged in to {one.address} as ana, context {host(one)}/ana\n"
    login(other, "ana")
    kept = contexts.load()
    assert {(c.server, c.token) for c in kept.named.values()} == {
        (one.address, "t-ana"),
        (other.address, "t-ana"),
    }
    assert kept.current == f"{host(other)}/ana"


def test_two_people_of_one_hub_are_two_contexts(hubs, login):
    """The second login leaves the first as it was."""
    login(hubs[0], "ana")
    before = contexts.load().named[f"{host(hubs[0])}/ana"]
    login(hubs[0], "bob")
    kept = contexts.load()
    assert kept.named[f"{host(hubs[0])}/ana"] == before
    assert kept.named[kept.current].token == "t-bob"


@pytest.mark.parametrize(("hub", "person"), [(1, "ana"), (0, "bob")], ids=["server", "person"])
def test_a_context_of_another_hub_or_person_is_not_replaced(hubs, login, hub, person):
    """`--name` of another login is refused with exit code 2, says whose it is, and writes nothing."""
    login(hubs[0], "ana", "--name", "prod")
    before = contexts.path().read_bytes()
    done = login(hubs[hub], person, "--name", "prod")
    assert done.code == 2
    assert f"context prod is of ana at {hubs[0].address}" in done.err
    assert "--force" in done.err
    assert contexts.path().read_bytes() == before


def test_force_replaces_the_whole_context(hubs, login):
    """Nothing of the first login is left: neither its server nor its token nor its namespace."""
    login(hubs[0], "ana", "--name", "prod", "-n", "team-a")
    assert login(hubs[1], "bob", "--name", "prod", "--force").code == 0
    assert contexts.load().named == {"prod": Stored(hubs[1].address, "t-bob", user="bob")}


def test_a_context_whose_person_is_unknown_is_not_replaced(hubs, login):
    """A file of an older release says no person: the first login after the upgrade needs --force."""
    contexts.save(Contexts("prod", {"prod": Stored(hubs[0].address, "t-old")}))
    assert login(hubs[0], "ana", "--name", "prod").code == 2
    assert contexts.load().named["prod"].token == "t-old"
    assert login(hubs[0], "ana", "--name", "prod", "--force").code == 0


def test_the_same_person_logs_in_again_to_the_same_context(hubs, login):
    """A new token takes the old one's place; the name and the namespace stay."""
    login(hubs[0], "ana", "--name", "prod", "-n", "team-a")
    contexts.change(
        lambda kept: kept.having("prod", Stored(**{**vars(kept.named["prod"]), "token": "old"}))
    )
    assert login(hubs[0], "ana").code == 0
    kept = contexts.load()
    assert kept.named == {"prod": Stored(hubs[0].address, "t-ana", "", "team-a", user="ana")}


def test_the_option_context_names_the_login(hubs, login, tmp_path):
    """`--context prod login` logs in again to the hub of that context, without --server."""
    login(hubs[0], "ana", "--name", "prod")
    hubs[0].answers[:] = [Answer({"name": "ana", "role": "administrator"})]
    (tmp_path / "new").write_text("t-new")
    done = run("--context", "prod", "login", "--token-file", str(tmp_path / "new"))
    assert (done.code, contexts.load().named["prod"].token) == (0, "t-new")


def test_a_login_that_the_environment_overrides_says_so(hubs, login, monkeypatch):
    """Where ROADSTEAD_CONTEXT selects another context, the login names it."""
    login(hubs[0], "ana", "--name", "prod")
    monkeypatch.setenv("ROADSTEAD_CONTEXT", "prod")
    done = login(hubs[1], "bob", "--name", "lab")
    assert "the environment selects context prod" in done.err
    assert resolve().token == "t-ana"
