"""Effects of a removal in members, as text: for `delete`, `plan`, `clusters drain` and `clusters rm`."""

from collections.abc import Sequence

from roadstead.models.removal import MemberRemoval, RemovedObject

_SHOWN = 20  # objects of one member
_WORDS = {
    "deleted": "deleted",
    "deleted_if_empty": "deleted if empty",
    "released": "released",
    "withdrawn": "jobs withdrawn",
    "left": "left",
    "not_reported": "not reported",
}


def lines_of(members: Sequence[MemberRemoval], indent: str = "  ") -> list[str]:
    """Format the numbers per member, then the first objects with their effects."""
    found = []
    for each in members:
        counts = [f"{n} {words}" for name, words in _WORDS.items() if (n := getattr(each, name))]
        found.append(f"{indent}{each.cluster}: {', '.join(counts)}")
        found += [f"{indent}  {_line(one)}" for one in each.objects[:_SHOWN]]
        total = sum(getattr(each, name) for name in _WORDS)
        if total > _SHOWN:
            found.append(f"{indent}  ... and {total - _SHOWN} more (-o json has the first 100)")
    return found


def _line(one: RemovedObject) -> str:
    place = "/".join(part for part in (one.namespace, one.name) if part)
    held = ", ".join(one.inside) + (", ..." if one.inside_count > len(one.inside) else "")
    return f"{one.kind} {place}  {one.fate}: {one.message}{f' ({held})' if held else ''}"
