"""What `weft net` says to a person: sentences, what matters most first."""

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


def explored(report: ExploreReport) -> Iterator[str]:
    seen = report.exploration
    counts = f"{_count(seen.states, 'state')}, {_count(seen.edges, 'edge')}"
    if seen.complete:
        yield f"{counts}: the whole state space."
    else:
        yield f"{counts}: not the whole state space, {seen.why}."
    yield _deadlocks(seen, most=len(seen.deadlock_trace or ()) if report.with_trace else NAMES_SHOWN)
    seen_only = "" if seen.complete else "Among these states: "
    tokens = f"{_count(seen.place_bound, 'token')} at most in a place, {seen.marking_bound:,} in a marking."
    yield f"{seen_only}{tokens}"
    if seen.dead_transitions:
        names = few(seen.dead_transitions)
        yield f"{_count(len(seen.dead_transitions), 'transition')} can never fire: {names}."
    elif seen.complete:
        yield "Every transition can fire."
    yield f"It took {report.cpu_seconds:.2f} s of CPU."


def _deadlocks(seen: Exploration, *, most: int) -> str:
    if seen.deadlock_trace is None:
        return "It cannot deadlock." if seen.complete else "No deadlock was met so far."
    at_least = "" if seen.complete else "at least "
    dead = f"It can deadlock: {at_least}{_count(seen.deadlocks, 'dead marking')}"
    if not seen.deadlock_trace:
        return f"{dead}, and it begins in one: no transition is enabled."
    firings = _count(len(seen.deadlock_trace), "firing")
    return f"{dead}; the nearest after {firings}: {few(seen.deadlock_trace, most)}."


def checked(report: NetCheckReport) -> Iterator[str]:
    found = report.soundness
    yield f"Sound: {found.verdict.answer}."
    yield f"Why: {report.why}."
    if found.verdict.trace:
        yield f"Firings that show it: {', '.join(found.verdict.trace)}."
    shape = "a workflow net" if found.workflow_net else "not a workflow net"
    yield f"The net is {shape} and {'' if found.free_choice else 'not '}free-choice."


def invariants(report: InvariantsReport) -> Iterator[str]:
    if report.places:
        yield f"{_count(len(report.places), 'P-invariant')}, sums of tokens that no firing changes:"
        for weights, total in zip(report.places, report.sums, strict=True):
            yield f"  {written_sum(weights)} = {total}"
    else:
        yield "No P-invariants: every sum of tokens, without minus signs, is changed by some firing."
    if report.transitions:
        yield f"{_count(len(report.transitions), 'T-invariant')}, firings that lead back to where they began:"
        for counts in report.transitions:
            yield f"  {written_sum(counts)}"
    else:
        yield "No T-invariants: no firings lead back to where they began."


def invariant_checked(report: InvariantCheckReport) -> Iterator[str]:
    yield f"Invariant: {report.verdict.answer}."
    yield f"Why: {report.verdict.why}."


def few(names: Sequence[str], most: int = NAMES_SHOWN) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
