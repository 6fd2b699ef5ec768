"""Decisions in words: why a cluster was chosen, or why another one was, and what broke a tie."""

from hub.domain.plan import Score, TermScore


def chosen(score: Score) -> str:
    """The reason for this cluster."""
    if score.running is None:
        return (
            f'Successfully scheduled resources for placement in "{score.cluster}" '
            f"({_kubefleet(score)}): picked by scheduling policy"
        )
    return f"score {score.score}: {_numbers(score)}"


def not_chosen(score: Score, best: Score) -> str:
    """The reason why `best` was picked and not this cluster."""
    if score.running is None:
        why = f'Cluster "{score.cluster}" was not picked: '
        if _tied(score, best):
            return f"{why}{tie(score.score, best.cluster, by_name())} ({_kubefleet(score)})"
        return f"{why}its score is not high enough ({_kubefleet(score)})"
    if _tied(score, best):
        return f"{tie(score.score, best.cluster, _by(score, best))}: {_numbers(score)}"
    return f"score {score.score} is not high enough: {_numbers(score)}"


def tie(score: int, winner: str, by: str) -> str:
    """The words for one who stood as high as the winner."""
    return f"tied at {score} with {winner}; the tie is broken by {by}"


def by_name() -> str:
    """KubeFleet's rule for ties."""
    return "the larger name"


def _tied(score: Score, best: Score) -> bool:
    return (score.score, score.topology) == (best.score, best.topology)


def _by(score: Score, best: Score) -> str:
    if best.running is not None and score.running != best.running:
        return f"fewest running jobs ({best.running} against {score.running})"
    return "a stable hash of job and cluster"


def _kubefleet(score: Score) -> str:
    return f"affinity score: {score.score}, topology spread score: {score.topology}"


def _numbers(score: Score) -> str:
    told = [words for term in score.terms if (words := _words(term))]
    return ", ".join((*told, f"{score.running} running"))


def _words(term: TermScore) -> str:
    value = term.value
    match term.name:
        case "in-use-after" if value is not None:
            return f"{value:.2%} in use once it is placed ({term.score})"
        case "jobs-that-fit" if value is not None:
            fit = "no other such job fits" if value < 2 else f"{value:.0f} such jobs fit"
            return f"{fit} ({term.score})"
        case "wait" if value is not None:
            return f"{value:.0f} s until its start ({term.score})"
        case "devices":
            return f"every node has devices, which the job does not ask for ({term.score})"
        case "labels" if term.score:
            return f"preferred by label ({term.score})"
    return ""
