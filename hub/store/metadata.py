"""Common parts of all tables: names of constraints, and numbers of 64 bits."""

from typing import Final

from sqlalchemy import BigInteger, Integer, MetaData

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


# 64 bits everywhere; SQLite's INTEGER has them, and numbers rows itself.
NUMBER: Final = BigInteger().with_variant(Integer, "sqlite")
