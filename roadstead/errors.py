"""What can go wrong when talking to a hub, and the exit code a script sees for it.

RoadsteadError          (exit 1)
├── Rejected            the hub refused the request (exit 3)
│   ├── NotFound        … because the thing is absent or not yours
│   └── SomeRejected    … some of many jobs, with what became of each
├── NotAllowed          no or wrong credential, or no right (exit 4)
├── Unreachable         no hub at that address, or it is not ready or failing (exit 5)
├── JobFailed           a job that was waited for ended otherwise than Succeeded (exit 1)
├── TimedOut            a job that was waited for has not ended in time (exit 6)
├── WrongAddress        what was given as the hub's address is none (exit 2)
└── WrongContext        a context that is not there, or a file of them that can not be used (exit 2)

Wrong usage of the command line is exit 2, and Ctrl-C 130. docs/reference/cli.md lists them all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roadstead.models.jobs import Outcome, Outcomes, WholeJob


@dataclass(frozen=True)
class FieldProblem:
    """One field of a refused request: its path, a stable code, and what is wrong with it."""

    field: str
    code: str
    message: str


class RoadsteadError(Exception):
    """Base of everything this package raises on purpose."""

    exit_code = 1


class Rejected(RoadsteadError):
    """The hub's problem+json answer: a stable `code`, what was wrong, and in which fields."""

    exit_code = 3

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        self.status = status
        self.code = str(problem.get("code") or f"Http{status}")
        self.detail = str(problem.get("detail") or problem.get("title") or "")
        self.problem = problem
        self.errors = field_problems(problem)
        super().__init__(f"{self.code}: {self.detail}")


class NotFound(Rejected):
    """404: absent, or not yours."""


class SomeRejected(Rejected):
    """Some of many jobs were refused; the others were taken.

    `outcomes` tells of each; code, detail and errors are those of the first that was refused.
    """

    def __init__(self, outcomes: "Outcomes", refused: "Sequence[Outcome]") -> None:
        first = refused[0].refusal
        assert first is not None
        super().__init__(first.status, first.problem)
        self.outcomes = outcomes
        count = f"{len(refused)} of {len(outcomes)} jobs were refused"
        self.args = (f"{count}; the first, number {refused[0].index}: {first}",)


class NotAllowed(RoadsteadError):
    """401: no or wrong credential; 403: one without the right. `status` tells which."""

    exit_code = 4

    def __init__(self, message: str, status: int = 401) -> None:
        self.status = status
        super().__init__(message)


class Unreachable(RoadsteadError):
    """No answer, no hub's answer, or 5xx from a hub that is starting or failing: try again later.

    `answered`: a hub is there, so that to start one or to name another is no help. `code`: the hub's own.
    """

    exit_code = 5

    def __init__(self, message: str, *, answered: bool = False, code: str = "") -> None:
        super().__init__(message)
        self.answered = answered
        self.code = code


class JobFailed(RoadsteadError):
    """Jobs that were waited for ended otherwise than Succeeded: `jobs`, as they ended."""

    exit_code = 1

    def __init__(self, jobs: "Sequence[WholeJob]") -> None:
        self.jobs = tuple(jobs)
        told = (f"{j.full_name} {j.state}{f' ({j.reason})' if j.reason else ''}" for j in jobs)
        super().__init__(f"did not succeed: {', '.join(told)}")


class TimedOut(RoadsteadError):
    """A job that was waited for has not ended in time; it goes on."""

    exit_code = 6


class WrongAddress(RoadsteadError):
    """What was given as the hub's address is none."""

    exit_code = 2


class WrongContext(RoadsteadError):
    """There is no such context, or the file that they are kept in can not be used."""

    exit_code = 2


def field_problems(problem: dict[str, Any]) -> tuple[FieldProblem, ...]:
    """The `errors` of a problem, or of one refused document of several; others' are skipped."""
    found = problem.get("errors")
    return tuple(
        FieldProblem(str(e.get("field", "")), str(e.get("code", "")), str(e.get("message", "")))
        for e in (found if isinstance(found, list) else ())
        if isinstance(e, dict)
    )
