"""Scenes of administrators: a backup is restored, queues are stopped and resized, placements come and go."""

from typing import Any

from tests.chaos.drawing import Draw, Scene

LAST_S = 24.0
_LAST_BACKUP_S = 14.0
_WAITS = ["Held", "Deactivated"]
_LIVES = ["Running", "Applied", "Offered", "Pending"]


def _restored(draw: Draw, at: float) -> None:
    """A backup of the hub is restored and accepted; people act before they have looked into any member."""
    if draw.goes_back:
        return
    draw.goes_back = True
    rng, at = draw.rng, min(at, _LAST_BACKUP_S)
    before = round(rng.uniform(0.5, 3), 2)
    draw.submit(at - before, rng.randint(4, 8), run_s=rng.uniform(5, 9))
    draw.submit(at - before, rng.randint(2, 4), run_s=rng.uniform(4, 8), most_s=1)
    draw.add(at - before + 0.4, rng.choice(["hold", "hold", "cancel"]), count=3, states=_LIVES)
    draw.add(at, "backup")
    lost = rng.uniform(4, 9)
    for _ in range(rng.randint(2, 4)):
        verb, states = rng.choice(
            [("release", _WAITS), ("release", _WAITS), ("hold", _LIVES), ("delete", _LIVES)]
        )
        draw.add(at + rng.uniform(0.3, lost), verb, count=rng.randint(2, 6), states=states)
    draw.submit(at + rng.uniform(0.2, lost), rng.randint(3, 6), run_s=rng.uniform(1, 9))
    if rng.random() < 0.7:  # a member is not heard from until long after it has been accepted
        side = f"hub-{draw.member()}"
        seconds = round(rng.uniform(8, 20), 2)
        draw.add(at + lost - 0.3, "link", link=side, mode="cut", seconds=seconds)
    acts = sorted(
        [round(rng.uniform(0, 1) ** 2 * 9, 2), *_blindly(draw)] for _ in range(rng.randint(4, 10))
    )
    accepted = round(rng.choice([0, 0, 0.5, 3, 7]), 2)
    draw.add(at + lost, "restore", accept_after=accepted, acts=acts)


def _blindly(draw: Draw) -> tuple[str, int]:
    verbs = ["release", "release", "release", "hold", "forget", "forget", "adopt", "cancel"]
    return draw.rng.choice([*verbs, "delete"]), draw.rng.randint(1, 8)


def _queue_changed(draw: Draw, at: float) -> None:
    """The queue of limited quota is stopped, resized or deleted, each time just as jobs come to it."""
    rng = draw.rng
    for _ in range(rng.randint(2, 4)):
        queue = rng.choice(["tight", "tight", "team-a/tight"])
        draw.submit(at, rng.randint(5, 10), run_s=rng.choice([0.4, 1.5, 4.0]), tight=True)
        begun, lasts = at + rng.uniform(0.02, 0.6), rng.uniform(1, 4)
        match rng.choice(["stop", "drain", "shrink", "grow", "shrink", "delete"]):
            case "stop" | "drain" as how:
                draw.add(begun, "queue", what="stop", queue=queue, drain=how == "drain")
                draw.add(begun + lasts, "queue", what="resume", queue=queue)
            case "delete":
                draw.add(begun, "queue", what="delete", drain=rng.random() < 0.7)
                draw.add(begun + lasts, "queue", what="make")
            case how:
                cores = rng.choice([0, 1, 2]) if how == "shrink" else rng.choice([9, 12])
                draw.add(begun, "queue", what="resize", cores=cores)
                draw.submit(begun + lasts / 2, rng.randint(1, 3), run_s=0.6, tight=True)
                draw.add(begun + lasts, "queue", what="resize", cores=rng.choice([3, 4, 6]))
        at += lasts + rng.uniform(0.2, 2)


def _placed(draw: Draw, at: float) -> None:
    """Placements of the namespace, its ConfigMaps and its Jobs come, change and go while Jobs run."""
    rng = draw.rng
    draw.add(at, "declare")
    draw.submit(at + 0.1, rng.randint(4, 8), run_s=rng.uniform(2, 6))
    steers = rng.random() < 0.4
    if steers:
        draw.submit(at + 0.2, rng.randint(2, 5), run_s=2.0, tight=False, queue="steered")
    for number in range(rng.randint(1, 3)):
        name = f"p{len(draw.actions)}-{number}"
        begun = at + rng.uniform(0, 3)
        for _ in range(rng.randint(1, 3)):
            draw.add(begun, "place", name=name, selects=_selects(draw, steers), **_policy(draw))
            begun += rng.uniform(0.5, 4)
        if rng.random() < 0.8:
            draw.add(begun, "unplace", name=name)


def _selects(draw: Draw, steers: bool) -> list[str]:
    """Of a ClusterResourcePlacement, or, with `own`, of a ResourcePlacement."""
    rng = draw.rng
    if rng.random() < 0.4:
        return ["own", rng.choice(["maps", "jobs", "both"]), draw.burst]
    scope = rng.choice(["NamespaceOnly", "NamespaceWithResources", "NamespaceWithResources"])
    return ["cluster", scope, "steered" if steers else ""]


def _policy(draw: Draw) -> dict[str, Any]:
    rng = draw.rng
    return {
        "picks": rng.choice(["all", "one", draw.member(), draw.member()]),
        "per_object": rng.random() < 0.3,
        "take_over": rng.choice(["IfNoDiff", "IfNoDiff", "Always", "Never"]),
    }


SCENES: tuple[tuple[Scene, float], ...] = ((_restored, 3), (_queue_changed, 3), (_placed, 3))
