"""What can go wrong between a transaction and its caller, besides a refusal of the input.

StoreError
├── UnknownSchema      the database is of a newer release, or not the hub's (hub.store.schema)
├── StoreUnavailable   the database could not answer or commit: nothing was acknowledged (503)
└── StaleTerm          a controller wrote under a term of leadership that has ended: it must stop
"""


class StoreError(Exception):
    """Base of the store's own errors."""


class StoreUnavailable(StoreError):
    """The database could not answer or commit. Nothing of the transaction is kept."""


class StaleTerm(StoreError):
    """Another holder leads since; the transaction is rolled back."""
