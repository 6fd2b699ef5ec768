"""How a request is refused: RFC 9457, with codes that stay."""

from typing import Any

from hub.api.models.base import Model


class FieldProblem(Model):
    """One field that is wrong."""

    field: str
    """Its path in the body, or the name of the parameter; empty for the whole."""
    code: str
    message: str


class Problem(Model):
    """Why a request was refused."""

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
    items: list[dict[str, Any]] = []
    """Of `apply`, where no document was taken: what was said of each."""
