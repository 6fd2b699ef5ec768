"""Tie-breaking: a stable hash of the job and the cluster, the same on every hub.

A name would send all ties to one cluster; a hash sends equal shares, and the same job to the same cluster
at every call.
"""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from hub.domain.fleet.clusters import FloatArray, IntArray

HashArray = npt.NDArray[np.uint64]
Keys = IntArray | FloatArray  # what clusters compete by

_MIXER: Final = 0xBF58476D1CE4E5B9  # odd: the highest bits of a product depend on all below
_MIXER_64: Final = np.uint64(_MIXER)
_MASK: Final = (1 << 64) - 1
FEW: Final = 8  # this number is hashed faster one by one than as an array


class Hashes(NamedTuple):
    """One number per cluster, in order: as an array, and as they are read one by one."""

    array: HashArray
    each: list[int]


@lru_cache(maxsize=16)
def hashes(names: tuple[str, ...]) -> Hashes:
    """Of the clusters' names."""
    each = [_number(name) for name in names]
    return Hashes(np.array(each, dtype=np.uint64), each)


class Tied:
    """The clusters that tied for first at the last full comparison, if they are many.

    While no score rises the ties only become fewer, and no other cluster has to be checked.
    """

    __slots__ = ("_count", "_hashes", "_last", "_places", "_rises", "_top")

    def __init__(self) -> None:
        self._rises = -1
        self._top = 0.0
        self._count = 0
        self._last = 0
        self._places: IntArray = np.zeros(0, dtype=np.int64)
        self._hashes: HashArray = np.zeros(0, dtype=np.uint64)

    def pick(self, competing: Keys, first: int, uid: str, names: Hashes, rises: int) -> int:
        """Of all that compete as high as `first`, the first of the best, who takes job `uid`.

        `rises` differs once any score may have risen.
        """
        top = competing.item(first)
        if rises != self._rises or top != self._top:
            (places,) = (competing == top).nonzero()
            if len(places) == 1:
                return first
            if len(places) <= FEW:
                return of_few(places.tolist(), uid, names.each)
            self._rises, self._top = rises, top
            self._places, self._count, self._hashes = places, len(places), names.array[places]
            self._last = 0
        return self._of_many(competing, top, _number(uid))

    def _of_many(self, competing: Keys, top: float, seed: int) -> int:
        while True:
            at = self._last  # who was picked before has most likely lost its place by that
            place = self._places.item(at)
            if competing.item(place) != top:
                self._count = end = self._count - 1
                self._places[at] = self._places[end]
                self._hashes[at] = self._hashes[end]
            mixed = self._hashes[: self._count] ^ np.uint64(seed)
            mixed *= _MIXER_64
            self._last = at = int(mixed.argmax())
            place = self._places.item(at)
            if competing.item(place) == top:
                return place


def of_few(places: Sequence[int], uid: str, each: Sequence[int]) -> int:
    """Of few places that are equally first: who takes job `uid`."""
    seed = _number(uid)
    mixed = [(each[place] ^ seed) * _MIXER & _MASK for place in places]
    return places[mixed.index(max(mixed))]


def mixed_for(uids: Sequence[str], places: HashArray) -> HashArray:
    """Jobs × clusters, for the hashes of some clusters: the highest of its row takes the job."""
    digests = b"".join([blake2b(uid.encode(), digest_size=8).digest() for uid in uids])
    mixed = np.frombuffer(digests, dtype=">u8").astype(np.uint64)[:, None] ^ places
    mixed *= _MIXER_64
    return mixed


def _number(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
