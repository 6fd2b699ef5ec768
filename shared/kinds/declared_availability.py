"""Availability rules that a hub's administrator declares: invalid ones are rejected at once. Pure.

They are for kinds that Kubernetes does not bring, of any version; they go before built-in ones.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from shared.errors import FieldError, Rejected
from shared.expressions.expression import compiled
from shared.kinds.availability_rules import Rule
from shared.kinds.names import is_dns_subdomain
from shared.reject_codes import RejectCode

MOST_RULES: Final = 100
MOST_CHARACTERS: Final = 65_536  # of all expressions together: agents receive them as a whole
_OF_KUBERNETES: Final = ".k8s.io"
_LONGEST_KIND: Final = 63

Declared = Mapping[str, str]  # group, kind, available, message


def check(rules: Sequence[Declared]) -> None:
    """Raise Rejected naming every fault with its field, such as `rules[2].available`."""
    faults = list(_faults(rules))
    if len(rules) > MOST_RULES:
        text = f"there are {len(rules)} rules: at most {MOST_RULES} are kept"
        faults.insert(0, FieldError("rules", RejectCode.INVALID_VALUE, text))
    elif sum(len(each["available"]) + len(each["message"]) for each in rules) > MOST_CHARACTERS:
        text = (
            f"all expressions together have more than {MOST_CHARACTERS} characters: shorten them"
        )
        faults.insert(0, FieldError("rules", RejectCode.INVALID_VALUE, text))
    if faults:
        first = faults[0]
        raise Rejected(first.code, first.message, first.field, tuple(faults))


def rules_of(rules: Iterable[Declared]) -> dict[tuple[str, str], Rule]:
    """Rules that were checked, by group and kind."""
    return {
        (each["group"], each["kind"]): Rule(each["available"], each["message"]) for each in rules
    }


def _faults(rules: Sequence[Declared]) -> Iterable[FieldError]:
    seen: set[tuple[str, str]] = set()
    for index, each in enumerate(rules[:MOST_RULES]):
        place = f"rules[{index}]"
        group, kind = each["group"], each["kind"]
        if "." not in group or not is_dns_subdomain(group) or group.endswith(_OF_KUBERNETES):
            text = (
                "must be the API group of a custom resource, such as example.org: kinds that Kubernetes "
                "brings have rules of their own"
            )
            yield FieldError(f"{place}.group", RejectCode.INVALID_VALUE, text)
        if (
            not (kind.isascii() and kind.isalnum() and kind[:1].isupper())
            or len(kind) > _LONGEST_KIND
        ):
            text = "must be a kind as manifests have it, such as RayCluster"
            yield FieldError(f"{place}.kind", RejectCode.INVALID_VALUE, text)
        if (group, kind) in seen:
            text = f"there is a rule for {kind} of {group} already: keep one"
            yield FieldError(place, RejectCode.INVALID_VALUE, text)
        seen.add((group, kind))
        yield from _unfit(f"{place}.available", each["available"], bool)
        if each["message"]:
            yield from _unfit(f"{place}.message", each["message"], str)


def _unfit(field: str, source: str, wanted: type) -> Iterable[FieldError]:
    try:
        compiled(source, wanted)
    except ValueError as fault:
        gives = "true or false" if wanted is bool else "a text"
        text = f"is no expression that gives {gives}: {fault}"
        yield FieldError(field, RejectCode.INVALID_VALUE, text)
