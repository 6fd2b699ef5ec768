"""`roadstead login` and `context`: what is kept where, what goes before what, and what is never told."""

import json
import stat

import pytest

from roadstead import contexts
from roadstead.context import resolve
from roadstead.contexts import Contexts, Stored
from roadstead.errors import WrongContext
from tests.cli.build import a_job, a_listed_job, text
from tests.cli.commands import run, spawn
from tests.cli.scripted import Answer, answering, items, problem

SECRET = "s3cret-of-mine"
VARIABLES = ("SERVER", "TOKEN", "CA", "DATA", "CONTEXT", "NAMESPACE")


@pytest.fixture(autouse=True)
def _alone(tmp_path, monkeypatch):
    """No variable says anything, and nobody runs a fleet."""
    for each in VARIABLES:
        monkeypatch.delenv(f"ROADSTEAD_{each}", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def token_file(tmp_path):
    """A file with a token in it."""
    file = tmp_path / "token"
    file.write_text(f"{SECRET}\n")
    return str(file)


def known(name="ana", role="administrator", **listed):
    """A hub that knows who asks; of everything else it lists `listed`."""
    who = {"name": name, "role": role, "groups": [], "roles": []}
    return lambda path: Answer(who) if path == "/v1/whoami" else items(*listed.values())


def login(script, token_file, *more):
    return run("login", "--server", script.address, "--token-file", token_file, *more)


def test_a_login_is_used_from_then_on(token_file):
    """The hub is asked with the token, which is kept and sent; nothing of it is printed."""
    with answering(asked=known(job=a_listed_job())) as script:
        done = login(script, token_file, "--name", "prod")
        assert (done.code, done.out) == (
            0,
            f"logged in to {script.address} as ana, context prod\n",
        )
        listed = run("jobs", "ls", "-o", "name")
        shown = run("context", "ls", "-o", "json")
    assert listed.lines == ["team-a/ok"]
    assert {each["Authorization"] for each in script.headers} == {f"Bearer {SECRET}"}
    assert SECRET not in done.out + done.err + shown.out + repr(contexts.load())
    assert [(c["name"], c["inUse"]) for c in json.loads(shown.out)["items"]] == [
        ("local", False),
        ("prod", True),
    ]


def test_who_has_no_role_yet_logs_in(token_file):
    """The hub knows the token, which is all that a login asks; it is said what is missing."""
    with answering(asked=known(role="user")) as script:
        done = login(script, token_file, "--name", "prod")
    assert (done.code, "you have no role that shows jobs yet" in done.err) == (0, True)
    assert contexts.load().current == "prod"


def test_nobody_else_may_read_the_file(token_file):
    """0600 in a folder of 0700, after each write; one that others may read is not used."""
    with answering(asked=known()) as script:
        login(script, token_file)
        login(script, token_file, "--name", "again")
    file = contexts.path()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert {each.suffix for each in file.parent.iterdir()} == {".json", ".lock"}
    assert {stat.S_IMODE(each.stat().st_mode) for each in file.parent.iterdir()} == {0o600}
    file.chmod(0o640)
    done = run("jobs", "ls")
    assert (done.code, f"chmod 600 {file}" in done.err) == (2, True)


def test_the_token_may_come_through_a_pipe(tmp_path):
    """--token-stdin reads it, so that no file need hold it and no list of processes shows it."""
    with answering(asked=known()) as script:
        done = spawn("login", "--server", script.address, "--token-stdin", stdin=f"{SECRET}\n",
                     XDG_CONFIG_HOME=str(tmp_path / "config"))  # fmt: skip
    assert done.code == 0, done.err
    assert script.headers[0]["Authorization"] == f"Bearer {SECRET}"


def test_what_the_hub_does_not_accept_is_not_kept(token_file):
    """A wrong token is exit code 4, and the file stays as it was."""
    with answering(problem(401, "Unauthorized", "no such token")) as script:
        done = login(script, token_file)
    assert (done.code, "ask an administrator for another" in done.err) == (4, True)
    assert "roadstead login" not in done.err
    assert contexts.load() == Contexts()


def test_the_hub_of_the_data_folder_has_a_token_where_there_is_one(tmp_path):
    """Nobody is told of a credential that does not exist."""
    for there in (False, True):
        (shown,) = json.loads(run("context", "ls", "-o", "json").out)["items"]
        assert (shown["name"], shown["hasToken"]) == ("local", there)
        (tmp_path / ".roadstead").mkdir(exist_ok=True)
        (tmp_path / ".roadstead" / "admin.token").write_text("t")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("login", "--token-stdin"), "Missing option '--server'"),
        (("login", "--server", "http://h"), "--token-file FILE or --token-stdin, or use --oidc"),
        (("--token", "t", "login", "--server", "http://h"), "Other users can see --token"),
        (("login", "--server", "http://h", "--token-file", "nowhere"), "cannot be read"),
        (("login", "--server", "http://h", "--token-stdin", "--name", "local"), "not 'local'"),
        (("login", "--server", "http://h", "--token-stdin", "--name", "../x"), "letters, digits"),
    ],
)
def test_what_can_not_be_logged_in_with(arguments, said):
    """Wrong usage, and never a token as an argument."""
    done = run(*arguments)
    assert (done.code, said in " ".join(done.err.split())) == (2, True), done.err


@pytest.mark.parametrize("content", ["", "two words", "ümlaut", "x" * 20_000])
def test_what_is_no_token_is_refused(tmp_path, content):
    """One word, before anything is sent."""
    (tmp_path / "t").write_text(content)
    done = run("login", "--server", "http://h", "--token-file", str(tmp_path / "t"))
    assert (done.code, "holds no token" in done.err) == (2, True)


def keep(**named):
    contexts.save(Contexts("prod", {"prod": Stored("http://prod", "t-prod", "ca", "ns"), **named}))


def test_flags_then_variables_then_the_context(monkeypatch):
    """Each alone, and the token of a context for its own hub only."""
    keep()
    found = resolve()
    assert (found.server, found.token, found.ca, found.namespace) == (
        *("http://prod", "t-prod", "ca", "ns"),
    )
    assert resolve("http://prod/").token == "t-prod"
    other = resolve("http://other")
    assert (other.token, other.ca, other.namespace) == ("", "", "")
    monkeypatch.setenv("ROADSTEAD_NAMESPACE", "env")
    monkeypatch.setenv("ROADSTEAD_TOKEN", "t-env")
    assert (resolve().token, resolve().namespace) == ("t-env", "env")
    monkeypatch.setenv("ROADSTEAD_SERVER", "http://env")
    assert (resolve().server, resolve().ca) == ("http://env", "")
    assert resolve("http://flag", "t-flag").token == "t-flag"


def test_a_context_that_is_named_goes_before_variables(monkeypatch):
    """--context is a flag; ROADSTEAD_CONTEXT a variable like others."""
    keep(test=Stored("http://test", "t-test"))
    monkeypatch.setenv("ROADSTEAD_SERVER", "http://env")
    monkeypatch.setenv("ROADSTEAD_TOKEN", "t-env")
    assert resolve(name="test").token == "t-test"
    monkeypatch.setenv("ROADSTEAD_CONTEXT", "test")
    assert resolve().server == "http://env"
    monkeypatch.delenv("ROADSTEAD_SERVER")
    assert resolve().server == "http://test"
    with pytest.raises(WrongContext, match="no context 'none'"):
        resolve(name="none")


def test_a_running_fleet_is_found_whatever_was_logged_in_to(tmp_path, monkeypatch):
    """ROADSTEAD_DATA goes before a login; the folder's token never goes to another hub."""
    folder = tmp_path / "fleet"
    folder.mkdir()
    (folder / "server").write_text("http://fleet\n")
    (folder / "admin.token").write_text("t-fleet\n")
    keep()
    monkeypatch.setenv("ROADSTEAD_DATA", str(folder))
    assert (resolve().server, resolve().token) == ("http://fleet", "t-fleet")
    assert resolve(name="prod").token == "t-prod"
    assert resolve("http://prod").token == ""
    run("context", "set-namespace", "mine", "--context", "local")
    assert resolve().namespace == "mine"


def test_contexts_are_changed_and_forgotten():
    """use, set-namespace and rm; `local` is always there; one that does not exist is 2."""
    keep(test=Stored("http://test"))
    assert run("context", "use", "test").code == 0
    assert resolve().server == "http://test"
    run("context", "set-namespace", "team-t")
    assert resolve().namespace == "team-t"
    assert run("context", "rm", "test").code == 0
    assert contexts.load().current == ""
    assert run("context", "use", "prod").code == 0
    assert run("context", "use", "local").code == 0
    assert resolve().server == "http://127.0.0.1:8080"
    for verb in ("use", "rm"):
        assert run("context", verb, "nowhere").code == 2


def test_a_list_of_the_contexts_namespace(token_file):
    """A namespace that was set narrows `jobs ls` and completes names; --context says of which."""
    with answering(asked=known(job=a_listed_job())) as script:
        login(script, token_file, "--name", "one", "-n", "team-z")
        login(script, token_file, "--name", "two")
        run("--context", "one", "jobs", "ls")
        run("--context", "one", "jobs", "show", "train")
        run("jobs", "ls")
    assert "namespace=team-z" in script.asked[2]
    assert script.asked[3] == "GET /v1/namespaces/team-z/jobs/train"
    assert "namespace" not in script.asked[-1]


@pytest.mark.parametrize(
    "content", ["", "[]", '{"contexts": {"a": 1}}', '{"contexts": {"a": {"server": 1}}}']
)
def test_a_file_that_can_not_be_understood_is_told(content):
    """With its path, exit code 2; nothing is overwritten."""
    file = contexts.path()
    file.parent.mkdir(parents=True)
    file.write_text(content)
    file.chmod(0o600)
    done = run("context", "ls")
    assert (done.code, str(file) in done.err) == (2, True)
    assert file.read_text() == content


def test_what_names_no_namespace_is_in_the_one_that_is_set(tmp_path, monkeypatch):
    """Of `apply`, `submit`, `delete`, `explain` and `plan` as of `run`; what names one keeps it."""
    monkeypatch.setenv("ROADSTEAD_NAMESPACE", "team-z")
    own, other = a_job("own"), a_job("other")
    del own["metadata"]["namespace"]
    (tmp_path / "jobs.yaml").write_text(text(own, other))
    file = str(tmp_path / "jobs.yaml")
    with answering(items(a_listed_job(), a_listed_job())) as script:
        server = ("--server", script.address)
        run(*server, "submit", file)
        run(*server, "apply", "-f", file)
        run(*server, "plan", file)
        run(*server, "delete", "job", "own")
        run(*server, "explain", "own")
        run(*server, "events", "own")
    sent = [json.loads(line)["metadata"]["namespace"] for line in script.bodies[0].splitlines()]
    assert sent == ["team-z", "team-a"]
    asked = [line.split()[1] for line in script.asked]
    assert asked[1:3] == ["/v1/apply?namespace=team-z", "/v1/plan?namespace=team-z"]
    assert set(asked[3:]) == {"/v1/namespaces/team-z/jobs/own"}


def test_a_context_without_a_token_is_sent_no_other_hubs(monkeypatch):
    """The token of the environment is for the hub of the environment; whoever listens there gets nothing."""
    monkeypatch.setenv("ROADSTEAD_TOKEN", SECRET)
    monkeypatch.setenv("ROADSTEAD_CA", "their-ca.pem")
    found = resolve(name=contexts.LOCAL)
    assert (found.token, found.ca) == ("", "")
    again = resolve(found.server, found.token, found.ca)  # as a client does
    assert (again.token, again.ca) == ("", "")
