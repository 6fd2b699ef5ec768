"""Prints the result of a dry run of definitions of kinds."""

from roadstead.models.hub import CheckedKind, CheckedKinds


def shown_kinds(told: CheckedKinds) -> str:
    """Each definition with its lines, then a table of the samples."""
    from roadstead.cli.kind_files import objects_table

    lines: list[str] = []
    for each in told.kinds:
        lines += _of(each)
    if told.raw.get("objects"):
        lines += ["", objects_table(told.raw)]
    return "\n".join(lines)


def dispatch_lines(lacking: tuple[str, ...] | list[str]) -> list[str]:
    """Say if members get objects of a kind, else all that its definition lacks for that."""
    if not lacking:
        return ["  dispatched: yes"]
    return [f"  not dispatched: {each}" for each in lacking]


def _of(kind: CheckedKind) -> list[str]:
    change = "no change" if kind.present == kind.next else f"would be version {kind.next}"
    lines = [
        f"{kind.api_version} {kind.kind} ({kind.name}): {change}",
        f"  held by: {kind.suspend_path or 'the hub alone'}",
        f"  states: {', '.join(kind.states) or 'none'}",
        *dispatch_lines(kind.lacking),
        *(f"  assumed: {each}" for each in kind.assumed),
    ]
    if kind.waiting or kind.placed:
        lines.append(
            f"  jobs that keep their version: {kind.waiting} waiting, {kind.placed} in members"
        )
    return lines
