"""Order of arrival of the hub cluster's jobs: its creation times have whole seconds. Pure."""

import datetime as dt
from collections import OrderedDict
from typing import Final

_SECONDS: Final = 4096  # that are remembered
_LAST: Final = 999_999  # microsecond of a second


class Arrivals:
    """Gives each job a creation time of its own: jobs of one second are a microsecond apart, as they came.

    So the queue order, which goes by time and then by uid, is the order of arrival. A later process does not
    know how many jobs of a second came before: those that come to it are ordered among themselves.
    """

    def __init__(self) -> None:
        self._came: OrderedDict[dt.datetime, int] = OrderedDict()

    def instant(self, created: dt.datetime) -> dt.datetime:
        """The creation time of the job that comes now. `created`: what the API server says."""
        came = self._came.pop(created, 0)
        self._came[created] = came + 1
        if len(self._came) > _SECONDS:
            self._came.popitem(last=False)
        return created + dt.timedelta(microseconds=min(came, _LAST))
