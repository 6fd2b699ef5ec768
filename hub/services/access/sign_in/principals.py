"""Principals without a row in the store: their name, their groups, and an id derived from the name."""

import hashlib

from hub.domain.access import VerifiedIdentity
from hub.services.access.credentials import USER, Principal


def principal_of(who: VerifiedIdentity) -> Principal:
    """A person with this name; what they may do, role bindings say. The id is the same on every hub."""
    made = hashlib.sha256(who.name.encode()).hexdigest()[:36]  # as long as those of the store
    return Principal(made, USER, who.name, groups=who.groups)
