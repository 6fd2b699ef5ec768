"""What can go wrong when talking to a hub, and the exit code a script sees for it.

RoadsteadError
├── Rejected        the hub refused the request (exit 3)
│   └── NotFound    … because the thing is absent or not yours
├── NotAllowed      no or wrong credential, or no right (exit 4)
└── Unreachable     no hub at that address, or it is not ready (exit 5)
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class FieldProblem:
    """One field of a refused request."""

    field: str
    code: str
    message: str


class RoadsteadError(Exception):
    """Base of everything this package raises on purpose."""

    exit_code = 1


class Rejected(RoadsteadError):
    """The hub's problem+json answer: a stable `code`, what was wrong, what to do."""

    exit_code = 3

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        self.status = status
        self.code = str(problem.get("code") or f"Http{status}")
        self.detail = str(problem.get("detail") or problem.get("title") or "")
        self.problem = problem
        self.errors = tuple(
            FieldProblem(
                str(e.get("field", "")), str(e.get("code", "")), str(e.get("message", ""))
            )
            for e in problem.get("errors") or ()
            if isinstance(e, dict)
        )
        super().__init__(f"{self.code}: {self.detail}")


class NotFound(Rejected):
    """404: absent, or not yours."""


class NotAllowed(RoadsteadError):
    """401 or 403."""

    exit_code = 4


class Unreachable(RoadsteadError):
    """No answer, or 503 from a hub that is starting."""

    exit_code = 5


class JobFailed(RoadsteadError):
    """A job that was waited for ended otherwise than Succeeded."""

    exit_code = 1
