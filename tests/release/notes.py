"""What CHANGELOG.md says of a version."""

import re

UNRELEASED = "Unreleased"


def section(changelog: str, version: str) -> str:
    """The text below the heading `## VERSION`, with or without a date; "" where there is none."""
    found = re.search(
        rf"^## \[?{re.escape(version)}\]?(?: [^\n]*)?\n(?P<text>.*?)(?=^## |\Z)",
        changelog,
        re.MULTILINE | re.DOTALL,
    )
    return found["text"].strip() if found else ""
