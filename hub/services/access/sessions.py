"""Sessions of browsers: created at sign-in with a provider, and kept while used."""

import datetime as dt
from collections.abc import Collection
from typing import Final

from hub.services.access.credentials import SESSION, USER, issue_for, matching
from hub.store import audit, tokens
from hub.store.transaction import Transaction

MOST_SESSIONS: Final = 50  # of one person


def begin_session(
    tx: Transaction, name: str, groups: Collection[str], kept: dt.timedelta, id_of_new: str
) -> str:
    """The session of a browser whose user signed in elsewhere, under a name that no token of the hub has.

    Their groups are those of now, in every browser of theirs; the oldest sessions beyond `MOST_SESSIONS` end.
    """
    held = tokens.find_principal(tx, USER, name)
    if held is None:
        tokens.add_principal(tx, id=id_of_new, role=USER, name=name)
    holder = id_of_new if held is None else held.id
    if held is None or sorted(held.groups or ()) != sorted(groups):
        tokens.set_groups(tx, holder, groups)
    live = tokens.live(tx, holder, SESSION)
    for oldest in live[: max(0, len(live) - MOST_SESSIONS + 1)]:
        tokens.revoke_one(tx, oldest)
    said = f"user {name}" + (f" groups={','.join(sorted(groups))}" if groups else "")
    audit.add(tx, name, "sign-in", said, about=("Session", "", name))
    return issue_for(tx, holder, SESSION, tx.now + kept)


def use_session(tx: Transaction, text: str) -> None:
    """Note an activity: an idle session ends."""
    found = matching(tx, text, SESSION)
    if found is not None and found.revoked_at is None:
        tokens.note_use(tx, found.id)
