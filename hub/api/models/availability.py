"""When objects of custom kinds are available."""

from typing import Annotated

from pydantic import Field

from hub.api.models.base import Body, Model, example_of

_RULE = {
    "group": "ray.io",
    "kind": "RayCluster",
    "available": "object.status.state == 'ready'",
    "message": "'its state is ' + object.status.state",
}


class AvailabilityRule(Model):
    """When objects of one kind, of whatever version, are available."""

    group: str
    kind: str
    available: str
    """An expression (CEL) over `object` that gives true or false."""
    message: str
    """An expression that gives a text, said where it is not available; empty: the condition's words."""


class AvailabilityRules(Model):
    """Declared rules, and the built-in ones that agents also use."""

    revision: int
    """Of what is declared; 0: nothing was ever declared."""
    rules: list[AvailabilityRule]
    built_in: list[AvailabilityRule]


class DeclaredRule(Body):
    """A rule for one kind."""

    model_config = example_of(_RULE)

    group: Annotated[str, Field(max_length=253)]
    """Of a custom resource."""
    kind: Annotated[str, Field(max_length=63)]
    available: Annotated[str, Field(max_length=2048)]
    """An expression (CEL) over `object` that gives true or false."""
    message: Annotated[str, Field(max_length=2048)] = ""
    """An expression that gives a text, said where it is not available."""


class DeclaredRules(Body):
    """All rules: what is not among them is declared no longer."""

    model_config = example_of({"rules": [_RULE]})

    rules: list[DeclaredRule]
