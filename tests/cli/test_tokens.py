"""People's tokens and names of jobs: given, listed, taken back."""

from tests.cli.build import a_job, text


def test_a_token_goes_to_standard_output_alone(hub):
    """`tokens issue` can be redirected to a file; the person is listed, and may look."""
    issued = hub.run("tokens", "issue", "ana")
    assert (issued.code, len(issued.lines)) == (0, 1)
    listed = hub.run("tokens", "ls").lines
    assert listed[0].split() == ["ROLE", "NAME", "AGE"]
    told = [line.split()[:2] for line in listed[1:]]
    assert (told[0], ["viewer", "ana"] in told) == (["administrator", "admin"], True)
    assert hub.run("--token", issued.lines[0], "jobs", "ls").code == 0
    assert hub.run("--token", issued.lines[0], "tokens", "ls").code == 4
    assert hub.run("tokens", "revoke", "ana").lines == ["viewer ana has no token now"]
    assert hub.run("tokens", "revoke", "ana").code == 3


def test_a_token_is_revoked_by_its_name(hub):
    """Whichever role it is of; where there are several, the role is asked for."""
    for role in ("user", "viewer", "administrator"):
        hub.run("tokens", "issue", "eve" if role == "user" else "bob", "--role", role)
    assert hub.run("tokens", "revoke", "eve").lines == ["user eve has no token now"]
    asked = hub.run("tokens", "revoke", "bob")
    assert (asked.code, "administrator and viewer" in asked.err) == (2, True), asked.err
    for role in ("viewer", "administrator"):
        assert hub.run("tokens", "revoke", "bob", "--role", role).code == 0


def test_a_deleted_job_frees_its_name(hub, tmp_path):
    """A job that waits is deleted at once, and another may have its name."""
    file = tmp_path / "job.yaml"
    file.write_text(text(a_job("again")))
    assert hub.run("submit", str(file)).code == 0
    assert hub.run("submit", str(file)).code == 3
    assert hub.run("jobs", "delete", "team-a/again").lines == [
        "team-a/again is deleted; its name is free"
    ]
    assert hub.run("submit", str(file)).code == 0
    assert hub.run("jobs", "delete", "team-a/again").code == 0


def test_who_has_no_token_can_not_lose_one(hub):
    """No role is made up for a name that has none."""
    done = hub.run("tokens", "revoke", "nobody")
    assert (done.code, "nobody has no token" in done.err) == (3, True), done.err
