"""Other ways to a PostgreSQL database: of hubs that tell nobody, hear of nothing, or are watched."""

from sqlalchemy import Connection

from hub.store.backends.backend import Feed
from hub.store.backends.postgres import Postgres


class Silent(Postgres):
    """Its commits are told to nobody, as when a notification is lost."""

    def tell(self, conn: Connection, revision: int) -> None:
        return None


class Deaf(Postgres):
    """Hears of nothing that others commit."""

    def open_feed(self) -> Feed:
        raise OSError("no way to the database")


class Counted(Postgres):
    """Its feeds are known, in the order in which they were opened."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.feeds: list[Feed] = []

    def open_feed(self) -> Feed:
        self.feeds.append(super().open_feed())
        return self.feeds[-1]
