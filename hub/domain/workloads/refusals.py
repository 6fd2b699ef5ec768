"""Sets a member aside for one job that it refuses for now: longer each time. Pure.

Its namespace is not accepted, or the job's name is taken there: another may mend that at any moment.

A member that reports its namespace as accepted and refuses each Job (its agent and its admission policy
disagree, say) would cost an epoch each half a minute. Beside `{member: until}` the job's `set_aside` has the
instant of the last refusal, under a key that names no member.
"""

import datetime as dt
from collections.abc import Mapping
from typing import Final

FIRST: Final = dt.timedelta(seconds=30)
LONGEST: Final = dt.timedelta(minutes=10)
_REFUSED: Final = "/refused"


def is_member(key: str) -> bool:
    """Does a key of `set_aside` name a member? Else it says when one refused the job."""
    return not key.endswith(_REFUSED)


def standing(present: Mapping[str, str] | None, now: dt.datetime) -> dict[str, str]:
    """Keep what still counts: clusters to avoid, and refusals by which the next one takes longer."""
    told = present or {}
    return {
        key: text
        for key, text in told.items()
        if is_member(member := key.removesuffix(_REFUSED))
        and (_until(told, member) > now or _last_span(told, member, now) is not None)
    }


def refused(
    present: Mapping[str, str] | None,
    member: str,
    now: dt.datetime,
    longest: dt.timedelta = LONGEST,
) -> dict[str, str]:
    """Set a member aside that refuses the job: 30 s at first, twice as long each time, at most `longest`.

    It is 30 s again ten minutes after the member was last set aside, and when it reports another state.
    """
    before = _last_span(present or {}, member, now)
    span = FIRST if before is None else min(longest, 2 * before)
    times = {member: (now + span).isoformat(), f"{member}{_REFUSED}": now.isoformat()}
    return {**standing(present, now), **times}


def forget(present: Mapping[str, str] | None, member: str) -> dict[str, str] | None:
    """Without the refusals of a member that reports another state; None: it has refused nothing."""
    told = present or {}
    mark = f"{member}{_REFUSED}"
    return {k: v for k, v in told.items() if k not in (member, mark)} if mark in told else None


def _until(told: Mapping[str, str], member: str) -> dt.datetime:
    text = told.get(member)
    return (
        dt.datetime.min.replace(tzinfo=dt.UTC) if text is None else dt.datetime.fromisoformat(text)
    )


def _last_span(told: Mapping[str, str], member: str, now: dt.datetime) -> dt.timedelta | None:
    """For how long its last refusal set a member aside; None: none that counts."""
    since, until = told.get(f"{member}{_REFUSED}"), _until(told, member)
    if since is None or now - until > LONGEST:
        return None
    span = until - dt.datetime.fromisoformat(since)
    return span if FIRST <= span <= LONGEST else None
