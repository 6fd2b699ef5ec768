"""The identity of this hub: created at first start and stored, so that restarts are the same hub."""

import base64
import hashlib
import secrets
import uuid
from dataclasses import dataclass

from hub.services.access.credentials import ADMINISTRATOR, replace_bearer, take_bearer
from hub.services.context.incarnations import new_incarnation
from hub.store import settings, tokens
from hub.store.transaction import Transaction

_ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Identity:
    """`incarnation` changes only when a store is restored from a backup; `page_key` seals pages."""

    hub_id: str
    incarnation: str
    page_key: bytes


def load(tx: Transaction) -> Identity:
    """The identity in the store, created if absent."""
    hub_id = settings.get(tx, "hub_id")
    if hub_id is None:
        hub_id = uuid.uuid4().hex[:16]
        settings.put(tx, "hub_id", hub_id)
        settings.put(tx, "incarnation", new_incarnation(tx.now))
        key = base64.b64encode(secrets.token_bytes(32)).decode()
        settings.put(tx, "page_key", key)
    return Identity(
        str(hub_id),
        str(settings.get(tx, "incarnation")),
        base64.b64decode(str(settings.get(tx, "page_key"))),
    )


def hub_id_of(tx: Transaction) -> str:
    """The id by which members know this hub; "" before its first start."""
    return str(settings.get(tx, "hub_id") or "")


def mark_key(tx: Transaction) -> bytes:
    """The key of marks for hidden values; derived from the key that seals pages."""
    key = base64.b64decode(str(settings.get(tx, "page_key") or ""))
    return hashlib.blake2b(b"marks of hidden values", key=key, digest_size=32).digest()


def is_administered(tx: Transaction) -> bool:
    """True if an administrator's token was created or adopted before."""
    return tokens.find_principal(tx, ADMINISTRATOR, _ADMIN) is not None


def issue_admin_token(tx: Transaction) -> str:
    """A new administrator's token; the one before it ends."""
    return replace_bearer(tx, ADMINISTRATOR, _ADMIN)


def take_admin_token(tx: Transaction, text: str) -> bool:
    """Make the token that a deployment gives the administrator's; False: it is not acceptable."""
    return take_bearer(tx, ADMINISTRATOR, _ADMIN, text)
