"""Playing seeds: one, many on all cores, and a failing one made smaller."""

import gc
import logging
import multiprocessing
import time
import traceback
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import structlog

from tests.simulation.scenario import Run
from tests.simulation.world import Violation


@dataclass(frozen=True, slots=True)
class Result:
    """How a seed went. `crc`: of its trace."""

    seed: int
    steps: int
    crc: int
    invariant: str = ""
    text: str = ""
    lines: tuple[str, ...] = ()


def quiet() -> None:
    """No log of the product."""
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL),
        cache_logger_on_first_use=True,
    )


def play(scenario: Any, *, tell: bool = False, kind: Any = Run) -> Result:
    """Play a scenario. `kind`: on which hub."""
    run = kind(scenario, tell=tell)
    invariant = text = ""
    try:
        run.play()
    except Violation as found:
        invariant, text = found.invariant, found.text
        run.world.note(f"! {found}")
    except Exception as error:  # noqa: BLE001 - a fault of the product like any other
        invariant, text = "fault", "".join(traceback.format_exception(error))[-4000:]
        run.world.note(f"! {text}")
    finally:
        run.finish()
    world = run.world
    return Result(scenario.seed, world.steps, world.crc, invariant, text, tuple(world.lines or ()))


def shrink(scenario: Any, kind: Any = Run) -> Any:
    """The same violation with as few faults, jobs and troubles as leaving out one by one gives."""
    wanted = play(scenario, kind=kind).invariant

    def fails(smaller: Any) -> bool:
        return play(smaller, kind=kind).invariant == wanted

    simpler: list[dict[str, object]] = [
        {"trouble": 0.0}, {"jobs": 1}, {"failing": 0.0}, {"ttl_s": None}, {"foreign": False},
        {"rates": (1.0, 1.0)}, {"retries": 1}, {"grace_s": 0.5},
        {"lag_s": 0.1}, {"copied_at": 0.0},
    ]  # fmt: skip
    changed = True
    while changed:
        changed = False
        for index in range(len(scenario.faults) - 1, -1, -1):
            faults: list[Any] = scenario.faults[:index] + scenario.faults[index + 1 :]
            smaller = replace(scenario, faults=faults)
            if fails(smaller):
                scenario, changed = smaller, True
        for change in simpler:
            if any(getattr(scenario, name, value) == value for name, value in change.items()):
                continue  # it is so already, or scenarios of this level have no such thing
            smaller = replace(scenario, **change)
            if fails(smaller):
                scenario, changed = smaller, True
    return scenario


@dataclass(slots=True)
class Tally:
    """Many seeds together. `cpu_s`: of all workers."""

    seeds: int = 0
    steps: int = 0
    crc: int = 0
    cpu_s: float = 0.0
    failed: list[Result] | None = None


def _chunk(seeds: range, kind: Any = Run) -> Tally:
    quiet()
    gc.disable()  # a run is small and its cycles go with it, once for many
    began = time.process_time()
    tally = Tally(failed=[])
    for seed in seeds:
        result = play(kind.draw(seed), kind=kind)
        tally.seeds += 1
        tally.steps += result.steps
        tally.crc = zlib.crc32(result.crc.to_bytes(4, "big"), tally.crc)
        if result.invariant and tally.failed is not None:
            tally.failed.append(result)
    gc.collect()
    tally.cpu_s = time.process_time() - began
    return tally


def campaign(
    first: int,
    count: int,
    workers: int,
    most_s: float = 0.0,
    kind: Any = Run,
    *,
    first_only: bool = False,
) -> Tally:
    """Play `count` seeds from `first`; no more after `most_s` (0: never), or after a violation."""
    size = 5 if kind is not Run else 100
    chunks = [range(at, min(at + size, first + count)) for at in range(first, first + count, size)]
    total = Tally(failed=[])
    began = time.monotonic()
    for part in _mapped(partial(_chunk, kind=kind), chunks, workers):
        total.seeds += part.seeds
        total.steps += part.steps
        total.cpu_s += part.cpu_s
        total.crc = zlib.crc32(part.crc.to_bytes(4, "big"), total.crc)
        total.failed = (total.failed or []) + (part.failed or [])
        late = most_s and time.monotonic() - began > most_s
        if late or (first_only and total.failed):
            break
    return total


def _mapped(
    play_all: Callable[[range], Tally], chunks: list[range], workers: int
) -> Iterable[Tally]:
    if workers == 1:
        yield from map(play_all, chunks)
        return
    with multiprocessing.get_context("fork").Pool(workers) as pool:
        yield from pool.imap(play_all, chunks)
