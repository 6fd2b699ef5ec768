"""The recorder is checked: a member that loses what it showed, planted in a copy of the sources, is found."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e import exactly_once
from tests.e2e.running import REPOSITORY

pytestmark = [pytest.mark.slow, pytest.mark.soak, pytest.mark.kubectl, pytest.mark.timeout(400)]


@dataclass(frozen=True)
class Edit:
    """One replacement in one file; the old text must be there exactly `times` times."""

    path: str
    old: str
    new: str
    times: int = 1


LOST_SECOND = (
    Edit(
        "shared/kubesim/store/journal.py",
        "        slow = self._commit_s >= _SLOW_COMMIT_S\n",
        "        self._settle(rows)\n"
        "        self._loop.call_later(1.0, lambda: (self._insert(rows), self._commit()))\n"
        "        return\n"
        "        slow = self._commit_s >= _SLOW_COMMIT_S\n",
    ),
)


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        pytest.param(LOST_SECOND, lambda fleet: fleet.kill("sim-m1"), id="lost-second"),
    ],
)
def test_a_planted_defect_is_found(tmp_path, edits, fault):
    """With the defect, the story of exactly-once ends with violations; being late proves nothing."""
    source = _planted(tmp_path / "source", edits)
    # What a kill meets is a matter of moments: the story is told again where it met nothing.
    stories = (
        exactly_once.run(tmp_path / f"fleet-{n}", fault, source=source, within_s=40)
        for n in range(3)
    )
    assert any(exactly_once.proofs(found) for found in stories)


def _planted(target: Path, edits: tuple[Edit, ...]) -> Path:
    """A copy of the sources with the defect in it; what is compiled goes along, and holds but there."""
    for root in ("agent", "hub", "roadstead", "shared", "examples"):
        shutil.copytree(REPOSITORY / root, target / root)
    for edit in edits:
        path = target / edit.path
        text = path.read_text()
        assert text.count(edit.old) == edit.times, f"{edit.path} no longer holds {edit.old!r}"
        path.write_text(text.replace(edit.old, edit.new))
    return target
