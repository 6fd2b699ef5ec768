"""People's credentials."""

from typing import Annotated, Literal

from hub.api.models.base import Body, Instant, Model, example_of, refused_as
from shared.reject_codes import RejectCode


class Person(Model):
    """A holder of a token."""

    role: str
    name: str
    created_at: Instant
    groups: list[str] | None = None
    """Of a user: those that role bindings may name."""


class PersonList(Model):
    """All who hold a token."""

    items: list[Person]


class IssuedToken(Person):
    """A token, shown once."""

    token: str


class NewToken(Body):
    """The holder of a new token."""

    model_config = example_of({"role": "viewer", "name": "ana"})

    role: Annotated[
        Literal["administrator", "viewer", "user"],
        refused_as(RejectCode.INVALID_ROLE, "a person is administrator, viewer or user"),
    ]
    name: str
    """A DNS subdomain."""
    groups: Annotated[
        list[str] | None, refused_as(RejectCode.INVALID_VALUE, "must be a list of names")
    ] = None
    """Of a user: what role bindings may name besides the name itself."""
