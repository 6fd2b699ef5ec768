"""The choice of a cluster for one workload: the cluster, its score and those of the others."""

from typing import Final, NamedTuple

from hub.domain.plan import Score, Verdict


class Choice(NamedTuple):
    """The cluster whose room was taken, and how it and the best others stood."""

    cluster: str
    scores: tuple[Score, ...]
    rejected: tuple[Verdict, ...]
    others: int


NOWHERE: Final = Choice("", (), (), 0)
