"""Text of `jobs show` and `explain` for a job whose cluster is lost."""

from collections.abc import Sequence

from roadstead.cli.output import moment
from roadstead.cli.tables import wrapped
from roadstead.models.lost_clusters import EarlierEpoch, LostCluster


def lines(loss: LostCluster | None, earlier: Sequence[EarlierEpoch]) -> list[str]:
    """Describe since when the cluster is silent, what may happen to the job, and earlier runs."""
    told: list[str] = []
    if loss is not None:
        told += wrapped(
            f"{loss.cluster} had its last contact {moment(loss.heard_at)} ({loss.policy})", "  "
        )
        for choice in loss.choices:
            told += wrapped(f"- {choice}", "    ")
    for each in earlier:
        text = f"epoch {each.epoch} was left behind in {each.cluster}, which is to withdraw it"
        text += "; ran beside a later one" if each.overlapped else ""
        text += f"; {each.active} pods when last seen" if each.active else ""
        told += wrapped(text, "  ")
    return told
