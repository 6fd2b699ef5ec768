"""`--context B` before any verb: B's hub, credential and namespace are used; A's context stays as it is."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

import click
import pytest

from roadstead import contexts
from roadstead.cli.root import cli
from roadstead.contexts import Contexts, Stored
from tests.cli.build import a_job, text
from tests.cli.commands import run
from tests.cli.reference import commands
from tests.cli.scripted import Answer, Scripted, answering, problem

# Verbs that talk to no hub: each works on files, on a store or on a fleet that it starts itself.
WITHOUT_HUB = {
    *("context ls", "context rm", "context set-namespace", "context use", "logout"),
    *("demo", "up", "simulate cycle", "simulate place", "simulate podsets", "simulate run"),
    *("kinds check", "kinds ls", "kinds show"),
    *("admin adopt", "admin availability", "admin backup", "admin doctor", "admin forget"),
    *("admin migrate", "admin release-finalizers", "admin restore", "admin retention"),
}
# Words of verbs whose arguments follow from no name.
WORDS = {
    "access bind": ("x", "--role", "viewer", "--user", "u"),
    "apply": ("-f", "FILE"),
    "checks serve": ("check",),
    "checks set": ("x", "check", "Ready"),
    "clusters drain": ("x",),
    "clusters fence": ("x", "--destroyed", "--confirm", "x"),
    "delete": ("job", "x"),
    "diff": ("-f", "FILE"),
    "drift accept": ("c", "Job/x"),
    "drift ignore": ("c", "Job/x"),
    "drift restore": ("c", "Job/x"),
    "get": ("job", "x"),
    "hand-over": ("job", "x", "--to", "rest"),
    "jobs cancel": ("x", "--yes"),
    "jobs delete": ("x", "--yes"),
    "jobs hold": ("x",),
    "jobs priority": ("x", "high"),
    "jobs release": ("x",),
    "login": ("--token-file", "TOKEN"),
    "logs": ("x",),
    "events": ("x",),
    "placements rollback": ("x", "--to", "1"),
    "placements render": ("x", "--cluster", "c"),
    "plan": ("FILE",),
    "queues set": ("x", "--cohort", "c"),
    "workloads show": ("ns/x",),
    "run": ("-q", "lq", "--image", "i", "--", "true"),
    "submit": ("FILE",),
}
VERBS = {path.removeprefix("roadstead "): command for path, command in commands(cli, "roadstead")}
WITH_HUB = sorted(VERBS.keys() - WITHOUT_HUB)
# Verbs that take a job by its name alone, or jobs without a namespace.
_JOB = {"JOB", "JOB...", "[JOB...]"}
OF_A_NAMESPACE = sorted(
    {p for p in WITH_HUB if any(each.human_readable_name in _JOB for each in VERBS[p].params)}
    - {"checks set"}  # its JOB is a uid
    | {"apply", "delete", "drift accept", "get", "hand-over", "jobs ls", "plan", "run", "submit"}
)


@dataclass
class Two:
    """Hubs of alice and bob, each with a context of that name; alice's is in use."""

    alice: Scripted
    bob: Scripted
    file: str
    token: str

    def words(self, path: str) -> list[str]:
        """A verb with arguments that it takes."""
        given = WORDS.get(path)
        if given is None:
            needed = [
                p for p in VERBS[path].params if isinstance(p, click.Argument) and p.required
            ]
            given = tuple("x" for _ in needed)
        files = {"FILE": self.file, "TOKEN": self.token}
        return [*path.split(), *(files.get(each, each) for each in given)]


@pytest.fixture
def two(tmp_path, monkeypatch) -> Iterator[Two]:
    for each in ("SERVER", "TOKEN", "CA", "DATA", "CONTEXT", "NAMESPACE"):
        monkeypatch.delenv(f"ROADSTEAD_{each}", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    job = a_job("x")
    del job["metadata"]["namespace"]
    (tmp_path / "x.yaml").write_text(text(job))
    (tmp_path / "token").write_text("t-bob")
    with answering(asked=_answer) as alice, answering(asked=_answer) as bob:
        named = {
            "alice": Stored(alice.address, "t-alice", namespace="ns-alice", user="alice"),
            "bob": Stored(bob.address, "t-bob", namespace="ns-bob", user="bob"),
        }
        contexts.save(Contexts("alice", named))
        yield Two(alice, bob, str(tmp_path / "x.yaml"), str(tmp_path / "token"))


def _answer(path: str) -> Answer:
    """Both hubs know who asks, and have nothing else."""
    if path == "/v1/whoami":
        return Answer({"name": "bob", "role": "user", "groups": [], "roles": []})
    return problem(404, "NotFound", "there is no such thing")


def written(name: str) -> str:
    """One context as the file holds it, to the byte."""
    return json.dumps(json.loads(contexts.path().read_text())["contexts"].get(name))


@pytest.mark.parametrize("path", WITH_HUB)
def test_a_verb_asks_the_hub_of_the_named_context(two, path):
    """Every request goes to B with B's token; none goes to A, and A's entry keeps every byte."""
    before = written("alice")
    done = run("--context", "bob", *two.words(path))
    assert two.bob.asked, done.err
    assert {each.get("Authorization") for each in two.bob.headers} == {"Bearer t-bob"}
    assert two.alice.asked == []
    assert written("alice") == before
    sent = "".join(two.bob.asked) + b"".join(two.bob.bodies).decode()
    assert "ns-alice" not in sent


@pytest.mark.parametrize("path", OF_A_NAMESPACE)
def test_what_names_no_namespace_is_in_that_of_the_named_context(two, path):
    """A job by its name alone, and a manifest without a namespace, are in B's namespace."""
    run("--context", "bob", *two.words(path))
    sent = "".join(two.bob.asked) + b"".join(two.bob.bodies).decode()
    assert "ns-bob" in sent


@pytest.mark.parametrize("path", WITH_HUB)
def test_the_variable_selects_a_context_as_the_option_does(two, path, monkeypatch):
    """ROADSTEAD_CONTEXT sends every verb to B with B's token."""
    monkeypatch.setenv("ROADSTEAD_CONTEXT", "bob")
    words = two.words(path)
    if path == "login":
        words += ["--server", two.bob.address]
    run(*words)
    assert two.bob.asked
    assert {each.get("Authorization") for each in two.bob.headers} == {"Bearer t-bob"}
    assert two.alice.asked == []


@pytest.mark.parametrize(
    "words",
    [
        ("logout",),
        ("logout", "bob"),
        ("context", "set-namespace", "new"),
        ("context", "rm", "bob"),
        ("context", "use", "bob"),
        ("context", "ls"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("by", ["option", "variable"])
def test_a_verb_that_edits_contexts_edits_the_named_one(two, words, by, monkeypatch):
    """`logout`, `set-namespace` and the like change B, and A's entry keeps every byte."""
    before, of_bob = written("alice"), written("bob")
    if by == "variable":
        monkeypatch.setenv("ROADSTEAD_CONTEXT", "bob")
    done = run(*(("--context", "bob") if by == "option" else ()), *words)
    assert done.code == 0, done.err
    assert written("alice") == before
    gone = words[0] == "logout" or words[1] == "rm"
    assert (written("bob") == "null") == gone
    assert (written("bob") != of_bob) == (gone or words[1] == "set-namespace")


@pytest.mark.parametrize(
    "words",
    [
        ("logout", "alice"),
        ("context", "rm", "alice"),
        ("context", "use", "alice"),
        ("context", "set-namespace", "n", "--context", "alice"),
        ("login", "--name", "alice", "--token-file", "TOKEN"),
    ],
    ids=" ".join,
)
def test_two_contexts_in_one_command_are_refused(two, words):
    """`--context bob logout alice` names two contexts: wrong usage, and nothing is written or sent."""
    before = contexts.path().read_bytes()
    words = [two.token if each == "TOKEN" else each for each in words]
    done = run("--context", "bob", *words)
    assert (done.code, "two contexts" in done.err) == (2, True)
    assert contexts.path().read_bytes() == before
    assert two.alice.asked == two.bob.asked == []


@pytest.mark.parametrize("path", sorted(VERBS))
def test_a_context_that_is_not_there_is_refused(two, path):
    """No verb that needs a hub falls back to another context."""
    if path in WITHOUT_HUB - {"logout", "context ls"}:
        return
    words = two.words(path)
    done = run("--context", "nobody", *words)
    assert done.code == 2, done.err
    assert two.alice.asked == two.bob.asked == []


def test_a_context_without_a_token_is_sent_without_one(two):
    """The token of another context of the same hub is not used instead."""
    kept = contexts.load()
    contexts.save(kept.having("guest", Stored(two.alice.address)))
    run("--context", "guest", "jobs", "ls")
    assert two.alice.asked
    assert "Authorization" not in two.alice.headers[0]


def test_names_that_are_listed_say_who_is_logged_in_where(two):
    """`context ls` shows hub and person of each context, and marks the one that commands use."""
    shown = json.loads(run("--context", "bob", "context", "ls", "-o", "json").out)["items"]
    found = {c["name"]: (c["server"], c["user"], c["inUse"]) for c in shown}
    assert found["alice"] == (two.alice.address, "alice", False)
    assert found["bob"] == (two.bob.address, "bob", True)
