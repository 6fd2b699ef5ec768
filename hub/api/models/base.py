"""Base of the models: camelCase on the wire, docstrings as descriptions, pages of lists."""

from typing import Annotated, Any

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from shared.documents import Json
from shared.reject_codes import RejectCode

Instant = AwareDatetime
# Canonical Kubernetes quantities by resource.
Amounts = dict[str, str]
Labels = dict[str, str]
# Kubernetes' own words, of a kind that is described by Kubernetes.
Kubernetes = Json


class Model(BaseModel):
    """Of an answer: clients have to expect fields that are not described yet."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, use_attribute_docstrings=True
    )


class Body(BaseModel):
    """Of a request: what is misspelt is refused, what is null counts as not given."""

    model_config = ConfigDict(
        alias_generator=to_camel, extra="forbid", strict=True, use_attribute_docstrings=True
    )


class ListPage(Model):
    """Of a list that comes in parts."""

    continue_: Annotated[str, Field(alias="continue")]
    """Asks for the next part, within 15 minutes; empty on the last."""


class ApiCondition(Model):
    """One condition, as Kubernetes has them."""

    type: str
    status: str
    """`True`, `False` or `Unknown`."""
    reason: str = ""
    message: str = ""
    last_transition_time: Instant | None = None
    observed_generation: int | None = None


def refused_as(code: RejectCode, message: str) -> WrapValidator:
    """A value of a wrong form is refused with this code (docs/reference/errors.md)."""

    def check(value: object, inner: ValidatorFunctionWrapHandler) -> Any:
        try:
            return inner(value)
        except ValidationError as fault:
            raise PydanticCustomError(code, message) from fault

    return WrapValidator(check)


def example_of(value: Json) -> ConfigDict:
    """Config of a model whose schema shows this."""
    return ConfigDict(json_schema_extra={"examples": [value]})
