"""What a store holds, read past the product: rows of jobs and works, and whom jobs wait for."""

from pathlib import Path
from typing import Any

from sqlalchemy import select

from hub.store import tables
from hub.store.transaction import Transaction


def books(tx: Transaction) -> tuple[dict[str, Any], dict[tuple[str, str], Any]]:
    found = tx.conn.execute(select(tables.workloads)).mappings()
    rows = {row["uid"]: dict(row) for row in found}
    held = tx.conn.execute(select(tables.works)).mappings()
    return rows, {(row["cluster"], row["uid"]): dict(row) for row in held}


def links(tx: Transaction) -> list[Any]:
    """Whom jobs wait for, as the store has it."""
    return [dict(row) for row in tx.conn.execute(select(tables.dependencies)).mappings()]


def memory_backed() -> str | None:
    """Where files are kept in memory; None: where temporary ones are."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None
