"""The one way to refuse an input: a stable code, the field, what was wrong, what to do.

`Rejected` travels from `shared.kinds` and the hub's services to the edge, where one table turns the
code into an HTTP status and a problem+json body; through the hub cluster it becomes a condition.
"""

from dataclasses import dataclass

from shared.reject_codes import RejectCode


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing wrong in one place: `field` is a path such as `spec.template.spec.containers[0].image`."""

    field: str
    code: RejectCode
    message: str


class Rejected(Exception):
    """An input refused. `code` is stable and part of the interface; `detail` is for people."""

    def __init__(
        self, code: RejectCode, detail: str, field: str = "", errors: tuple[FieldError, ...] = ()
    ) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
        self.field = field
        self.errors = errors or ((FieldError(field, code, detail),) if field else ())
