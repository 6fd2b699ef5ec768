"""Names of incarnations: they say when each began, so that of two the store knows which came later.

Pure. A hub's clock is not behind the time at which an earlier incarnation began (exactly-once, 5). Names
of another form, as older hubs gave themselves, are earlier than any.
"""

import datetime as dt
import re
import uuid
from collections.abc import Iterable

_FORM = re.compile(r"i([0-9]{13})-[0-9a-f]{12}")
_MS = dt.timedelta(milliseconds=1)
_ZERO = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def new_incarnation(now: dt.datetime, earlier: Iterable[str] = ()) -> str:
    """A name for one that begins now, and after `earlier` ones in any case."""
    began = max([(now - _ZERO) // _MS, *(began_ms(each) + 1 for each in earlier)])
    return f"i{began:013}-{uuid.uuid4().hex[:12]}"


def began_ms(incarnation: str) -> int:
    """When it began, in milliseconds; 0 where it does not say."""
    found = _FORM.fullmatch(incarnation)
    return int(found[1]) if found is not None else 0
