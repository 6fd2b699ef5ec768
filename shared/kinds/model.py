"""The base of the typed kinds: strict models in Kubernetes' spelling, faults in ours.

One model serves three ends: a manifest is validated against it, its defaults are filled in, and the
CustomResourceDefinition is generated from it (`shared.kinds.crds`). Rules that look at more than one
field are functions over the validated content, beside each model.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
)
from pydantic.alias_generators import to_camel
from pydantic.config import JsonDict
from pydantic_core import ErrorDetails, PydanticCustomError

from shared import quantity
from shared.errors import Rejected
from shared.kinds import names
from shared.kinds.problems import Problems, join, unknown_name
from shared.quantity import shown
from shared.reject_codes import RejectCode

INT32_MAX: Final = 2**31 - 1
TERM_LISTS: Final = frozenset({"matchExpressions", "clusterSelectorTerms", "resourceSelectors"})


class Model(BaseModel):
    """A strict model: no coercion, no unknown fields, camelCase outside and snake_case inside."""

    model_config = ConfigDict(extra="forbid", strict=True, alias_generator=to_camel)


def fault(code: RejectCode, message: str) -> PydanticCustomError:
    """An error of a field validator that reaches the user with `code`."""
    return PydanticCustomError(code, "{message}", {"message": message})


def _quantity(value: Any) -> str:
    try:
        quantity.nanos(value)
    except Rejected as refusal:
        raise fault(refusal.code, refusal.detail) from None
    return value if isinstance(value, str) else str(value)


def _number(value: Any) -> str:
    try:
        quantity.number(value)
    except Rejected as refusal:
        raise fault(refusal.code, refusal.detail) from None
    return value if isinstance(value, str) else str(value)


def _weight(value: Any) -> str:
    try:
        number = quantity.number(value)
    except Rejected as refusal:
        raise fault(RejectCode.INVALID_WEIGHT, refusal.detail) from None
    if number < 0 or number > quantity.MAX or 0 < number * quantity.NANO <= 1:
        rule = f"{shown(value)}: must be 0 or more than 1e-9, and at most 2^63-1"
        raise fault(RejectCode.INVALID_WEIGHT, rule)
    return value if isinstance(value, str) else str(value)


def _subdomain(value: str) -> str:
    if not names.is_dns_subdomain(value):
        raise fault(RejectCode.INVALID_NAME, f"{shown(value)}: {names.SUBDOMAIN_RULE}")
    return value


def _resource_name(value: str) -> str:
    if not names.is_quota_resource(value):
        rule = "is no resource: a qualified name such as cpu, pods, gpu or nvidia.com/gpu"
        raise fault(RejectCode.INVALID_RESOURCE_NAME, f"{shown(value)} {rule}")
    return value


def _int_or_percent(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise fault(RejectCode.INVALID_TYPE, "must be a whole number or a percentage such as 25%")
    digits = value.removesuffix("%") if isinstance(value, str) else str(value)
    bound = 100 if isinstance(value, str) and value.endswith("%") else INT32_MAX
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 12 and int(digits) <= bound):
        raise fault(RejectCode.OUT_OF_RANGE, f"{shown(value)}: must be 0 or more, or 0% to 100%")
    return value


_INT_OR_STRING: Final = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "x-kubernetes-int-or-string": True,
}

# An amount that is not negative; a quantity of either sign; a share; a count or percentage.
Amount = Annotated[str, BeforeValidator(_quantity), WithJsonSchema(_INT_OR_STRING)]
Number = Annotated[str, BeforeValidator(_number), WithJsonSchema(_INT_OR_STRING)]
Weight = Annotated[str, BeforeValidator(_weight), WithJsonSchema(_INT_OR_STRING)]
IntOrPercent = Annotated[
    int | str, BeforeValidator(_int_or_percent), WithJsonSchema(_INT_OR_STRING)
]
Name = Annotated[str, AfterValidator(_subdomain), Field(max_length=253)]
ResourceName = Annotated[str, AfterValidator(_resource_name), Field(max_length=317)]
Int32 = Annotated[int, Field(ge=-(2**31), le=INT32_MAX)]
Count = Annotated[int, Field(ge=0, le=INT32_MAX)]
# Written by servers only, so never parsed from a client; the type serves the schema.
Timestamp = Annotated[str, WithJsonSchema({"type": "string", "format": "date-time"})]
Labels = dict[str, str]
Opaque = Annotated[
    dict[str, Any], Field(json_schema_extra={"x-kubernetes-preserve-unknown-fields": True})
]


class LabelExpression(Model):
    """One requirement of a label selector."""

    key: str
    operator: str
    values: list[str] | None = None


class LabelSelector(Model):
    """Selects by labels: everything in matchLabels and matchExpressions must hold."""

    match_labels: Labels | None = None
    match_expressions: list[LabelExpression] | None = None


class Condition(Model):
    """One aspect of the state, with when it last changed and why."""

    type: str = Field(max_length=316)
    status: str = Field(json_schema_extra={"enum": ["True", "False", "Unknown"]})
    observed_generation: Annotated[int, Field(ge=0)] | None = None
    last_transition_time: Timestamp
    reason: str = Field(max_length=1024)
    message: str = Field(max_length=32768)


def by_type(description: str = "") -> Any:
    """A field that is a list-map keyed by `type`, as conditions are."""
    return keyed("type", description=description)


def keyed(*keys: str, description: str = "", **bounds: Any) -> Any:
    """An optional list field whose items are told apart by `keys` (a list-map for apply)."""
    extra: JsonDict = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [*keys]}
    return Field(default=None, description=description or None, json_schema_extra=extra, **bounds)


def validate(
    model: type[Model], content: Mapping[str, Any], field: str, problems: Problems
) -> dict[str, Any]:
    """Content checked against `model`, with defaults, in plain JSON; {} where faults were found."""
    try:
        read = model.model_validate(content)
    except ValidationError as faults:
        errors = [e for e in faults.errors(include_url=False) if _counts(e, problems)]
        if not errors:
            return validate(model, _known_content(content, faults), field, problems)
        for error in errors:
            _note(error, model, content, field, problems)
        return {}
    return read.model_dump(mode="json", by_alias=True, exclude_none=True)


def _counts(error: ErrorDetails, problems: Problems) -> bool:
    return problems.strict or error["type"] != "extra_forbidden"


def _known_content(content: Mapping[str, Any], faults: ValidationError) -> dict[str, Any]:
    """`content` without its unknown fields, for a reader that passes them over."""
    kept: Any = _copied(content)
    for error in faults.errors(include_url=False):
        *way, last = error["loc"]
        inner = kept
        for step in way:
            inner = inner[step]
        del inner[last]
    result: dict[str, Any] = kept
    return result


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _copied(v) for k, v in value.items()}
    return [_copied(v) for v in value] if isinstance(value, list) else value


_CODES: Final = {
    "missing": RejectCode.REQUIRED,
    "extra_forbidden": RejectCode.UNKNOWN_FIELD,
    "literal_error": RejectCode.UNSUPPORTED_VALUE,
    "enum": RejectCode.UNSUPPORTED_VALUE,
    "greater_than_equal": RejectCode.OUT_OF_RANGE,
    "greater_than": RejectCode.OUT_OF_RANGE,
    "less_than_equal": RejectCode.OUT_OF_RANGE,
    "too_long": RejectCode.TOO_MANY_ITEMS,
    "too_short": RejectCode.REQUIRED,
    "string_too_long": RejectCode.TOO_LONG,
    "string_too_short": RejectCode.REQUIRED,
    "string_pattern_mismatch": RejectCode.INVALID_VALUE,
}


_SENTENCES: Final = {
    "missing": "is required",
    "string_type": "must be a string",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "too_short": "must have at least {min_length} of them",
    "too_long": "must have at most {max_length} of them",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
}


def _note(
    error: ErrorDetails, model: type[Model], content: Any, field: str, problems: Problems
) -> None:
    path = field
    for step in error["loc"]:
        path = f"{path}[{step}]" if isinstance(step, int) else join(path, str(step))
    kind = error["type"]
    message = _sentence(kind, error["msg"], error.get("ctx") or {})
    code = _CODES.get(kind) or RejectCode(kind if kind[:1].isupper() else "InvalidType")
    if kind == "extra_forbidden":
        message = unknown_name(str(error["loc"][-1]), _siblings(model, error["loc"][:-1]))
    elif kind == "too_long" and error["loc"][-1] in TERM_LISTS:
        code = RejectCode.TOO_MANY_TERMS
    problems.add(path, code, message)


def _sentence(kind: str, message: str, context: Mapping[str, Any]) -> str:
    """The fault in the words of manifests, not of the library that found it."""
    if kind in {"literal_error", "enum"}:
        return "must be " + str(context["expected"]).replace("'", "")
    if kind in _SENTENCES:
        return _SENTENCES[kind].format(**context)
    return message.replace("Input should be", "must be", 1)


def _siblings(model: type[Model], way: tuple[int | str, ...]) -> list[str]:
    """The names that the object at `way` may have, found by walking the models' annotations."""
    here: type[Model] = model
    for step in way:
        if isinstance(step, int):
            continue
        for name, declared in here.model_fields.items():
            if step == (declared.alias or name):
                here = _inner_model(declared.annotation) or here
    return [declared.alias or name for name, declared in here.model_fields.items()]


def _inner_model(annotation: Any) -> type[Model] | None:
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return annotation
    for part in getattr(annotation, "__args__", ()):
        found = _inner_model(part)
        if found is not None:
            return found
    return None
