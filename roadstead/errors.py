"""Errors of a hub client, and the exit code of the command for each.

RoadsteadError          (exit 1)
├── Rejected            the hub refused the request (exit 3)
│   ├── NotFound        … because the thing is absent or not yours
│   └── SomeRejected    … some of many jobs, with the result of each
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
    """One field of a rejected request: its path, a stable code, and the error."""

    field: str
    code: str
    message: str


class RoadsteadError(Exception):
    """Base of all errors that this package raises on purpose."""

    exit_code = 1


class Rejected(RoadsteadError):
    """The hub's problem+json answer: a stable `code`, the message, and the fields."""

    exit_code = 3

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        self.status = status
        self.code = str(problem.get("code") or f"Http{status}")
        self.detail = str(problem.get("detail") or problem.get("title") or "")
        self.problem = problem
        self.errors = field_problems(problem)
        super().__init__(f"{self.code}: {self.detail}")


class NotFound(Rejected):
    """404: absent, or not visible to you."""


class SomeRejected(Rejected):
    """Some of many jobs were rejected; the others were accepted.

    `outcomes` has each result; code, detail and errors are those of the first rejected one.
    """

    def __init__(self, outcomes: "Outcomes", refused: "Sequence[Outcome]") -> None:
        first = refused[0].refusal
        assert first is not None
        super().__init__(first.status, first.problem)
        self.outcomes = outcomes
        count = f"{len(refused)} of {len(outcomes)} jobs were refused"
        self.args = (f"{count}; the first, number {refused[0].index}: {first}",)


class NotAllowed(RoadsteadError):
    """401: missing or wrong credential; 403: a credential without the right. `status` has the code."""

    exit_code = 4

    def __init__(self, message: str, status: int = 401) -> None:
        self.status = status
        super().__init__(message)


class Unreachable(RoadsteadError):
    """No answer, an answer that is not the hub's, or 5xx from a hub that is starting or failing: retry
    later.

    `answered`: there is a hub, so starting or naming another one does not help. `code`: the hub's own.
    """

    exit_code = 5

    def __init__(self, message: str, *, answered: bool = False, code: str = "") -> None:
        super().__init__(message)
        self.answered = answered
        self.code = code


class JobFailed(RoadsteadError):
    """Awaited jobs did not succeed: `jobs`, with their final states."""

    exit_code = 1

    def __init__(self, jobs: "Sequence[WholeJob]") -> None:
        self.jobs = tuple(jobs)
        told = (f"{j.full_name} {j.state}{f' ({j.reason})' if j.reason else ''}" for j in jobs)
        super().__init__(f"did not succeed: {', '.join(told)}")


class TimedOut(RoadsteadError):
    """An awaited job has not ended in time; it continues."""

    exit_code = 6


class WrongAddress(RoadsteadError):
    """The value for the hub's address is invalid."""

    exit_code = 2


class WrongContext(RoadsteadError):
    """There is no such context, or the contexts file is unusable."""

    exit_code = 2


def field_problems(problem: dict[str, Any]) -> tuple[FieldProblem, ...]:
    """The `errors` of a problem, or of one rejected document of several; skips others'."""
    found = problem.get("errors")
    return tuple(
        FieldProblem(str(e.get("field", "")), str(e.get("code", "")), str(e.get("message", "")))
        for e in (found if isinstance(found, list) else ())
        if isinstance(e, dict)
    )
