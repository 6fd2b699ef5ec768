"""The checker is checked: three defects, planted one at a time in a copy of the sources, are found."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e import exactly_once
from tests.e2e.running import REPOSITORY
from tests.e2e.test_kills import kill_hub_and_silence_agent

pytestmark = [pytest.mark.slow, pytest.mark.kubectl, pytest.mark.timeout(400)]


@dataclass(frozen=True)
class Edit:
    """One replacement in one file; the old text must be there exactly `times` times."""

    path: str
    old: str
    new: str
    times: int = 1


OFFERED_AFTER_THE_REPLY = (
    Edit(
        "hub/services/offers.py",
        '    works.offer(unit, changed)\n    workloads.transition(unit, "offer", offered)\n',
        "    LATE.append((changed, offered))\n",
    ),
    Edit(
        "hub/services/offers.py",
        "def offer(unit: Unit",
        "LATE = []\n\n\ndef offer_late(unit):\n"
        "    changed, offered = LATE.pop(0)\n"
        "    works.offer(unit, changed)\n"
        '    workloads.transition(unit, "offer", offered)\n\n\ndef offer(unit: Unit',
    ),
    Edit(
        "hub/services/sync.py",
        '        failpoint("H09")\n',
        "        asyncio.get_running_loop().call_later(\n"
        "            3.0, lambda: asyncio.ensure_future(self._db.write(offers.offer_late))\n"
        "        )\n",
    ),
)
NO_LABEL_CHECK = (
    Edit(
        "agent/applier.py",
        "owner = owner_of(live, self._hub_id)",
        "owner = work.uid",
        times=2,
    ),
)
LOST_SECOND = (
    Edit(
        "shared/kubesim/journal.py",
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
        pytest.param(OFFERED_AFTER_THE_REPLY, kill_hub_and_silence_agent, id="offered-late"),
        pytest.param(NO_LABEL_CHECK, lambda fleet: fleet.kill("agent-m1"), id="no-label-check"),
        pytest.param(LOST_SECOND, lambda fleet: fleet.kill("sim-m1"), id="lost-second"),
    ],
)
def test_a_planted_defect_is_found(tmp_path, edits, fault):
    """With the defect, the story of exactly-once ends with violations."""
    source = _planted(tmp_path / "source", edits)
    assert exactly_once.run(tmp_path / "fleet", fault, source=source, within_s=40) != []


def _planted(target: Path, edits: tuple[Edit, ...]) -> Path:
    """A copy of the sources with the defect in it."""
    for root in ("agent", "hub", "roadstead", "shared", "examples"):
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(REPOSITORY / root, target / root, ignore=ignore)
    for edit in edits:
        path = target / edit.path
        text = path.read_text()
        assert text.count(edit.old) == edit.times, f"{edit.path} no longer holds {edit.old!r}"
        path.write_text(text.replace(edit.old, edit.new))
    return target
