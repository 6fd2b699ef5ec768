"""Error answers: RFC 9457, with stable codes."""

from hub.api.models.base import Model
from shared.documents import Json


class FieldProblem(Model):
    """One field that is wrong."""

    field: str
    """Its path in the body, or the name of the parameter; empty for the whole."""
    code: str
    message: str


class Problem(Model):
    """The reason of a refusal."""

    type: str
    """`https://roadstead.dev/problems/CODE`."""
    status: int
    code: str
    """Stable: what programs may rely on."""
    detail: str
    """For people: what is wrong, and what to do."""
    errors: list[FieldProblem]
    request_id: str
    """Stands in the log of the hub, and in the header `X-Request-Id`."""
    uid: str = ""
    """Of what has the name already."""
    items: list[Json] = []
    """Of `apply`, if no document was taken: the result of each."""
