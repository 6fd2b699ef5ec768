"""What an administrator does is tried on each database there is."""

from tests.store.conftest import store

__all__ = ["store"]
