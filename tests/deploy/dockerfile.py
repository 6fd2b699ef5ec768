"""Reads a Dockerfile into its instructions, as far as the rules for ours need it."""

import dataclasses
import re
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Instruction:
    """One instruction, continuation lines joined."""

    name: str
    text: str


def stages(path: Path) -> list[list[Instruction]]:
    """The instructions of each build stage, FROM included; global ARGs are left out."""
    joined = re.sub(r"\\\n", " ", _without_comments(path.read_text()))
    found: list[list[Instruction]] = []
    for line in filter(None, map(str.strip, joined.splitlines())):
        name, _, text = line.partition(" ")
        if name.upper() == "FROM":
            found.append([])
        if found:
            found[-1].append(Instruction(name.upper(), text.strip()))
    return found


def _without_comments(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))


def texts(stage: list[Instruction], name: str) -> list[str]:
    """What one kind of instruction says, in order."""
    return [instruction.text for instruction in stage if instruction.name == name]
