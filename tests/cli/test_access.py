"""`roadstead access`, `auth can-i`, `whoami` and `audit`: what people are shown, and what scripts are."""

import json

import pytest

from roadstead.models.access import Allowed, AuditEntry, RoleBinding, WhoAmI
from tests.cli.commands import Ran, run
from tests.cli.filled import LATER, filled
from tests.cli.scripted import Answer, answering, items
from tests.cli.terminal import on_terminal, plain

ROLE = {"role": "submitter", "namespaces": ["a", "b"], "queues": None}
BOUND = {**ROLE, "queues": ["q"], "users": [], "groups": ["g"]}
SHOWN: list[tuple[str, list[Answer], str]] = [
    (
        "whoami",
        [Answer({"name": "ann", "role": "user", "groups": ["g"], "roles": [ROLE]})],
        "ann (user)\n  groups  g\n  submitter in a,b\n",
    ),
    (
        "whoami",
        [Answer({"name": "ann", "role": "user", "groups": [], "roles": []})],
        "ann (user)\n  no roles: a cluster administrator binds them (roadstead access bind)\n",
    ),
    (
        "access bind x --role submitter --group g -n a -n b --queue q",
        [Answer(filled(RoleBinding, **BOUND | {"priorityClasses": None}))],
        "name: group g is submitter in a,b, for jobs of q\n",
    ),
    (
        "access bind x --role submitter --group g -n a -n b --queue q --priority-class low",
        [Answer(filled(RoleBinding, **BOUND | {"priorityClasses": ["low"]}))],
        "name: group g is submitter in a,b, for jobs of q, with priority classes low\n",
    ),
    (
        "access ls",
        [
            items(
                filled(
                    RoleBinding, **ROLE | {"users": ["ann"], "groups": ["g"], "createdAt": LATER}
                )
            )
        ],
        """\
NAME  ROLE       USERS  GROUPS  NAMESPACES  QUEUES  AGE
name  submitter  ann    g       a,b         all     0s
""",
    ),
    ("access unbind x", [Answer(filled(RoleBinding))], "x is removed\n"),
    (
        "audit ls --user ann --since 2h",
        [items(filled(AuditEntry, at=LATER))],
        "AGE  WHO        VERB  WHAT    OUTCOME\n0s   principal  verb  object  outcome\n",
    ),
]


def asked(line: str, answers: list[Answer]) -> Ran:
    with answering(*answers) as script:
        return run("--server", script.address, *line.split())


@pytest.mark.parametrize(("line", "answers", "shown"), SHOWN)
def test_people_are_shown_who_may_what(line: str, answers: list[Answer], shown: str) -> None:
    """Each value in its place."""
    assert asked(line, answers).out == shown


@pytest.mark.parametrize(("allowed", "code"), [(True, 0), (False, 1)])
def test_can_i_ends_with_its_answer(allowed: bool, code: int) -> None:
    """For scripts by the exit code, for people with the reason."""
    ran = asked("auth can-i submit jobs -n a", [Answer(filled(Allowed, allowed=allowed))])
    assert (ran.code, ran.out) == (code, f"{'yes' if allowed else 'no'}: reason\n")


def test_scripts_are_given_the_answer_as_it_is() -> None:
    """As JSON."""
    told = {"name": "ann", "role": "viewer", "groups": [], "roles": []}
    assert json.loads(asked("whoami -o json", [Answer(told)]).out) == told
    assert WhoAmI.of(told).roles == ()


def test_mine_are_those_of_who_asks() -> None:
    """The hub says who that is; --user besides is a contradiction."""
    told = {"name": "ann", "role": "user", "groups": [], "roles": []}
    with answering(Answer(told), items()) as script:
        run("--server", script.address, "jobs", "ls", "--mine")
        assert "owner=ann" in str(script.asked)
    assert asked("jobs ls --mine --user ben", []).code == 2


@pytest.mark.parametrize(
    ("roles", "said"),
    [
        ([ROLE | {"namespaces": ["a"]}], "Next: roadstead context set-namespace a"),
        ([ROLE], ""),
        ([ROLE | {"namespaces": ["a"]}, ROLE | {"namespaces": None}], ""),
    ],
)
def test_who_has_one_namespace_is_told_how_it_need_not_be_named(roles, said):
    """Others are told nothing: the namespace of what names none would be wrong for some of it."""
    told = {"name": "ann", "role": "user", "groups": [], "roles": roles}
    with answering(Answer(told)) as script:
        seen = on_terminal("--server", script.address, "whoami", out=False, err=True)
    assert (said in plain(seen.terminal), "Next:" in plain(seen.terminal)) == (True, bool(said))
