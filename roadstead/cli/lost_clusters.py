"""What `jobs show` and `explain` say of a job whose cluster is lost."""

from collections.abc import Sequence

from roadstead.cli.output import moment
from roadstead.cli.tables import wrapped
from roadstead.models.lost_clusters import EarlierEpoch, LostCluster


def lines(loss: LostCluster | None, earlier: Sequence[EarlierEpoch]) -> list[str]:
    """Since when it is silent, what may become of the job, and what may run besides it."""
    told: list[str] = []
    if loss is not None:
        told += wrapped(
            f"{loss.cluster} was last heard {moment(loss.heard_at)} ({loss.policy})", "  "
        )
        for choice in loss.choices:
            told += wrapped(f"- {choice}", "    ")
    for each in earlier:
        text = f"epoch {each.epoch} was left behind in {each.cluster}, which is to withdraw it"
        text += "; ran beside a later one" if each.overlapped else ""
        text += f"; {each.active} pods when last seen" if each.active else ""
        told += wrapped(text, "  ")
    return told
