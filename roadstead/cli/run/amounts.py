"""Parsers for amounts and times; errors name the option and a valid value."""

import re
from typing import Final

import click

_LEAST_BYTES: Final = 1 << 20  # less memory than this is a forgotten unit
_SECONDS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_TIME: Final = re.compile(r"(?:\d+[smhd])+|\d+", re.ASCII)
_PART: Final = re.compile(r"(\d+)([smhd]?)", re.ASCII)
_KNOWN_GPU: Final = "nvidia.com/gpu"
_NEARLY: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgtp])i?b?", re.IGNORECASE | re.ASCII)
Given = str | None


def cpu(_ctx: click.Context, _option: click.Parameter, given: Given) -> Given:
    """CPUs, such as `8`, `0.5` or `500m`. Raises click.BadParameter."""
    return None if given is None else amount("cpu", given)


def memory(_ctx: click.Context, _option: click.Parameter, given: Given) -> Given:
    """Bytes with their unit, such as `16Gi`. Raises click.BadParameter, also if the unit is missing."""
    if given is None:
        return None
    nearly = _NEARLY.fullmatch(given)
    try:
        amount("memory", given)
    except click.BadParameter as fault:
        if nearly is None:
            raise
        meant = f"{nearly[1]}{nearly[2].upper()}i"
        raise click.BadParameter(
            f"{given!r} is not a quantity. Did you mean {meant!r}?"
        ) from fault
    if _amount_of("memory", given) < _LEAST_BYTES:
        number = re.match(r"[\d.]+", given)
        meant = f"{number[0] if number else given}Gi"
        raise click.BadParameter(f"{given!r} is less than 1Mi. Did you mean {meant!r}?")
    return given


def gpus(_ctx: click.Context, _option: click.Parameter, given: Given) -> tuple[str, str] | None:
    """`2`, or `RESOURCE=2` for other vendors than NVIDIA: the resource and the number."""
    if given is None:
        return None
    name, is_named, count = given.rpartition("=")
    if not count.isascii() or not count.isdecimal() or int(count) < 1 or (is_named and not name):
        raise click.BadParameter(
            f"{given!r}: use a whole number, or RESOURCE=NUMBER such as amd.com/gpu=2."
        )
    return name or _KNOWN_GPU, str(int(count))


def resources(
    _ctx: click.Context, _option: click.Parameter, given: tuple[str, ...]
) -> dict[str, str]:
    """`NAME=QUANTITY` each: other resources of a container."""
    found = {}
    for each in given:
        name, is_pair, text = each.partition("=")
        if not name or not is_pair:
            raise click.BadParameter(f"{each!r}: use NAME=QUANTITY, such as example.com/fpga=1.")
        found[name] = amount(name, text)
    return found


def seconds(_ctx: click.Context, _option: click.Parameter, given: Given) -> int | None:
    """A length of time: `90s`, `2h`, `1h30m`; a number alone is seconds. Raises click.BadParameter."""
    return None if given is None else seconds_of(given)


def seconds_with_unit(ctx: click.Context, option: click.Parameter, given: Given) -> int | None:
    """Seconds of a duration with a unit; a bare number is ambiguous. Raises click.BadParameter."""
    found = seconds(ctx, option, given)
    if given is not None and given.strip().isdecimal():
        number = given.strip()
        said = f"{given!r} has no unit. Did you mean '{number}m', or '{number}s' or '{number}h'?"
        raise click.BadParameter(said)
    return found


def seconds_of(text: str) -> int:
    """`seconds` of a text. Raises click.BadParameter."""
    found = text.strip().lower()
    total = sum(int(n) * _SECONDS[unit] for n, unit in _PART.findall(found))
    if not _TIME.fullmatch(found) or not total or total > 10**9:
        raise click.BadParameter(f"{text!r} is not a duration: use 90s, 30m, 2h, 1d or 1h30m.")
    return total


def amount(resource: str, text: str) -> str:
    """Validate a quantity above 0. Raises click.BadParameter."""
    if _amount_of(resource, text) < 1:
        raise click.BadParameter(f"{text!r} requests nothing.")
    return text


def amount_or_nothing(resource: str, text: str) -> str:
    """Validate a quantity; 0 is allowed. Raises click.BadParameter."""
    _amount_of(resource, text)
    return text


def _amount_of(resource: str, text: str) -> int:
    from shared.errors import Rejected
    from shared.quantity import parse

    try:
        return parse(resource, text)
    except Rejected as no:
        such = "0.5, 8 or 500m" if resource == "cpu" else "16Gi"
        why = no.detail.removeprefix(f"{text!r}: ")
        raise click.BadParameter(f"{text!r} is not a quantity such as {such}: {why}") from no
