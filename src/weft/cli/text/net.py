"""Output of `weft net`: sentences, the most important first."""

from collections.abc import Iterator, Sequence

from weft.app.inspect.nets import (
    ExploreReport,
    InvariantCheckReport,
    InvariantsReport,
    NetCheckReport,
    written_sum,
)
from weft.net.explore import Exploration

NAMES_SHOWN = 8


def explore_lines(report: ExploreReport) -> Iterator[str]:
    exploration = report.exploration
    counts = f"{_count(exploration.states, 'state')}, {_count(exploration.edges, 'edge')}"
    if exploration.complete:
        yield f"{counts}: the whole state space."
    else:
        yield f"{counts}: not the whole state space, {exploration.why}."
    # A user who asks for the trace needs all of it to replay it.
    yield _deadlocks(
        exploration, most=len(exploration.deadlock_trace or ()) if report.with_trace else NAMES_SHOWN
    )
    # Bounds of a search that met a limit are only lower bounds.
    scope = "" if exploration.complete else "Among these states: "
    in_place = f"{_count(exploration.place_bound, 'token')} at most in a place"
    yield f"{scope}{in_place}, {exploration.marking_bound:,} in a marking."
    if exploration.dead_transitions:
        names = few(exploration.dead_transitions)
        yield f"{_count(len(exploration.dead_transitions), 'transition')} can never fire: {names}."
    # An incomplete search does not prove that a transition is dead, nor that all are live.
    elif exploration.complete:
        yield "Every transition can fire."
    yield f"It took {report.cpu_seconds:.2f} s of CPU."


def _deadlocks(exploration: Exploration, *, most: int) -> str:
    if exploration.deadlock_trace is None:
        return "It cannot deadlock." if exploration.complete else "No deadlock was met so far."
    at_least = "" if exploration.complete else "at least "
    dead = f"It can deadlock: {at_least}{_count(exploration.deadlocks, 'dead marking')}"
    if not exploration.deadlock_trace:
        return f"{dead}, and the initial marking is one: no transition is enabled."
    firings = _count(len(exploration.deadlock_trace), "firing")
    return f"{dead}; the nearest after {firings}: {few(exploration.deadlock_trace, most)}."


def check_lines(report: NetCheckReport) -> Iterator[str]:
    soundness = report.soundness
    yield f"Sound: {soundness.verdict.answer}."
    yield f"Why: {report.why}."
    if soundness.verdict.trace:
        yield f"Firings that show it: {', '.join(soundness.verdict.trace)}."
    shape = "a workflow net" if soundness.workflow_net else "not a workflow net"
    yield f"The net is {shape} and {'' if soundness.free_choice else 'not '}free-choice."


def invariants_lines(report: InvariantsReport) -> Iterator[str]:
    if report.places:
        yield f"{_count(len(report.places), 'P-invariant')}, sums of tokens that no firing changes:"
        for weights, total in zip(report.places, report.sums, strict=True):
            yield f"  {written_sum(weights)} = {total}"
    else:
        yield "No P-invariants: every sum of tokens, without minus signs, is changed by some firing."
    if report.transitions:
        yield f"{_count(len(report.transitions), 'T-invariant')}, firings that lead back to the initial marking:"
        for counts in report.transitions:
            yield f"  {written_sum(counts)}"
    else:
        yield "No T-invariants: no firings lead back to the initial marking."


def invariant_check_lines(report: InvariantCheckReport) -> Iterator[str]:
    yield f"Invariant: {report.verdict.answer}."
    yield f"Why: {report.verdict.why}."


def few(names: Sequence[str], most: int = NAMES_SHOWN) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
