"""Jobs from before a restore are found whatever the order in which the database sorts texts."""

from collections.abc import AsyncIterator

import pytest

from hub.store import leftovers, settings
from hub.store.engine import Database
from hub.store.leftovers import Leftover
from hub.store.transaction import Transaction

pytestmark = pytest.mark.anyio
