"""How many examples properties are tried on, and whether they have anything to check.

With `CI` set in the environment each run tries others; a failure prints what draws the same example again.
`PROPERTY_TIMES` says how many times as many are tried: ten by `make soak`, half by `.ci/run`, but
no fewer than forty where so many are named.
"""

import os
from collections import Counter
from typing import Any

import hypothesis

IN_CI = bool(os.environ.get("CI"))
_TIMES = float(os.environ.get("PROPERTY_TIMES", "1"))
_COUNT = 100
_FEW = 40  # no fewer than these: what is rare would not be drawn


def _scaled(count: int) -> int:
    return max(min(count, _FEW), round(count * _TIMES))


hypothesis.settings.register_profile("dev", deadline=None, max_examples=_COUNT)
hypothesis.settings.register_profile(
    "ci",
    deadline=None,
    max_examples=_scaled(_COUNT),
    derandomize=False,  # where Hypothesis finds itself in CI, it draws the same examples every time
    database=None,
    print_blob=True,
)


def load_profile() -> None:
    """Have every property follow the profile of where it runs."""
    hypothesis.settings.load_profile("ci" if IN_CI else "dev")


def examples(count: int, **more: Any) -> hypothesis.settings:
    """Settings of one property that shall be tried on `count` examples, before a release on more."""
    return hypothesis.settings(max_examples=_scaled(count), **more)


def sample(count: int, **more: Any) -> hypothesis.settings:
    """Settings of a look at what is drawn: the same examples in each run, so that shares are no chance."""
    return hypothesis.settings(max_examples=count, derandomize=True, database=None, **more)


class Contents:
    """Of how many examples of a property the rule had something to say."""

    def __init__(self) -> None:
        self.seen: Counter[bool] = Counter()

    def note(self, something: object) -> None:
        """One example was played; `something`: what the rule is about, or nothing."""
        self.seen[bool(something)] += 1

    def are_in(self, share: float) -> bool:
        """Did at least this share of the examples hold something?"""
        return self.seen[True] >= share * self.seen.total() > 0
