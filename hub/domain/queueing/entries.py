"""The workloads of one lane in order, in blocks that are never changed but replaced.

So a reader with the first few thousand of a million keeps them unchanged, and to hand them out costs a
handful of references: a cycle over many lanes costs no more because more wait in each.
"""

import bisect
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, overload

from hub.domain.queueing.lanes import Entry

BLOCK: Final = 256  # entries in a block that was filled; it is cut in two at twice as many
Block = tuple[Entry, ...]


def _last(block: Block) -> Entry:
    return block[-1]


class Entries:
    """Entries, the first one first. No block is empty, and each goes before the next."""

    __slots__ = ("_blocks", "_count", "_size")

    def __init__(self, entries: Sequence[Entry] = (), size: int = BLOCK) -> None:
        """`entries` are in order; `size`: of a block that is filled."""
        self._size = size
        starts = range(0, len(entries), size)
        self._blocks: list[Block] = [tuple(entries[at : at + size]) for at in starts]
        self._count = len(entries)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Entry]:
        """All, as they are now."""
        return itertools.chain.from_iterable(tuple(self._blocks))

    def add(self, entry: Entry) -> None:
        """Put one in its place; nearly always the end."""
        blocks = self._blocks
        self._count += 1
        if not blocks or blocks[-1][-1] < entry:
            if blocks and len(blocks[-1]) < self._size:
                blocks[-1] = (*blocks[-1], entry)
            else:
                blocks.append((entry,))
            return
        number = bisect.bisect_left(blocks, entry, key=_last)
        block = blocks[number]
        at = bisect.bisect_left(block, entry)
        block = (*block[:at], entry, *block[at:])
        cut = len(block) // 2 if len(block) >= 2 * self._size else len(block)
        blocks[number : number + 1] = [part for part in (block[:cut], block[cut:]) if part]

    def remove(self, entry: Entry) -> None:
        """Take one out, if it is there; nearly always the first."""
        blocks = self._blocks
        number = bisect.bisect_left(blocks, entry, key=_last)
        if number == len(blocks):
            return
        block = blocks[number]
        at = bisect.bisect_left(block, entry)
        if block[at] != entry:
            return
        self._count -= 1
        block = block[:at] + block[at + 1 :]
        start, end = number, number + 1
        if end < len(blocks) and len(block) + len(blocks[end]) <= self._size:
            block, end = block + blocks[end], end + 1
        if start and len(block) + len(blocks[start - 1]) <= self._size:
            block, start = blocks[start - 1] + block, start - 1
        blocks[start:end] = [block] if block else []

    def first(self, limit: int) -> Sequence[Entry]:
        """The first `limit`, which stay as they are now."""
        blocks = self._blocks
        if not blocks or limit <= len(blocks[0]):
            return blocks[0][:limit] if blocks else ()
        if len(blocks) == 1:
            return blocks[0]
        held, wanted = 0, []
        for block in blocks:
            wanted.append(block)
            held += len(block)
            if held >= limit:
                break
        return _First(wanted, min(held, limit))

    def last(self) -> Entry:
        """The last; there is one."""
        return self._blocks[-1][-1]

    def rank(self, entry: Entry) -> int:
        """The number of entries before `entry`."""
        number = bisect.bisect_left(self._blocks, entry, key=_last)
        before = sum(map(len, itertools.islice(self._blocks, number)))
        if number == len(self._blocks):
            return before
        return before + bisect.bisect_left(self._blocks[number], entry)


class _First(Sequence[Entry]):
    """The first entries of a lane; assembled only when one beyond the first block is requested."""

    __slots__ = ("_blocks", "_count", "_entries")

    def __init__(self, blocks: Sequence[Block], count: int) -> None:
        self._blocks = blocks
        self._count = count
        self._entries: Block | None = None

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> Entry: ...

    @overload
    def __getitem__(self, at: slice) -> Block: ...

    def __getitem__(self, at: int | slice) -> Entry | Block:
        head = self._blocks[0]
        if isinstance(at, slice):
            start, stop, step = at.indices(self._count)
            near = step > 0 and stop <= len(head)
            return head[start:stop:step] if near else self._all()[at]
        return head[at] if 0 <= at < len(head) else self._all()[at]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._all())

    def _all(self) -> Block:
        entries = self._entries
        if entries is None:
            every: Iterable[Entry] = itertools.chain.from_iterable(self._blocks)
            entries = self._entries = tuple(itertools.islice(every, self._count))
        return entries
