"""What can start now, and why the rest cannot, for people: a few lines, however large the plan is."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice

from weft.app.check.eligibility_rules import BlockKind, Eligibility, Eligible, Ineligible, UnlandedResult
from weft.cli.text.sections import MORE_ROWS, ROWS, count, few, more, section, table


def eligibility_lines(found: Eligibility, *, verbose: bool = False) -> Iterator[str]:
    """What can start comes first."""
    by_kind: defaultdict[BlockKind, list[Ineligible]] = defaultdict(list)
    for one in found.ineligible:
        by_kind[one.kind].append(one)
    complete = by_kind[BlockKind.COMPLETE] + by_kind[BlockKind.UNMERGED]
    is_over = len(complete) == len(found.ineligible)
    yield from section("Start", _start(found.eligible, is_over=is_over, verbose=verbose))
    yield from section("Done", _done(by_kind[BlockKind.COMPLETE], verbose=verbose))
    yield from section("Unmerged", _unmerged(by_kind[BlockKind.UNMERGED], verbose=verbose))
    yield from section("Blocked", _blocked(by_kind[BlockKind.BLOCKED], verbose=verbose))
    yield from section("Unread", _unread(by_kind[BlockKind.UNREADABLE]))


def _start(found: Sequence[Eligible], *, is_over: bool, verbose: bool) -> Iterator[str]:
    free = [one.path for one in found if not one.after]
    ready = [(one.path, ", ".join(one.after)) for one in found if one.after]
    if not found:
        yield "Nothing is left to start." if is_over else "No slice can start right away."
    if free:
        yield f"{_can_start(free)}, with nothing {_they('depend', free)} on: {few(free, ROWS)}."
    if ready:
        yield f"{_can_start(ready)}, as all {_they('depend', ready)} on is complete:"
        yield from table(ready, verbose=verbose)


def _can_start(found: Sequence[object]) -> str:
    return f"{count(len(found), 'slice')} can start right away"


def _they(do: str, found: Sequence[object]) -> str:
    return f"it {do}s" if len(found) == 1 else f"they {do}"


def _done(found: Sequence[Ineligible], *, verbose: bool) -> Iterator[str]:
    runs: defaultdict[str, list[str]] = defaultdict(list)
    for one in found:
        runs[one.run].append(one.path)
    most = MORE_ROWS if verbose else ROWS
    for run, paths in islice(runs.items(), most):
        are = "is" if len(paths) == 1 else "are"
        yield f"{count(len(paths), 'slice')} {are} already complete, by run {run}: {few(paths, ROWS)}."
    yield from more(len(runs) - most)


def _unmerged(found: Sequence[Ineligible], *, verbose: bool) -> Iterator[str]:
    """Each result that lands as a whole is told of once."""
    results = [one.unlanded for one in found if one.unlanded is not None]
    slices = Counter(one.path for one in results)
    each = {one.path: one for one in results}.values()
    done = [_result(one, slices[one.path]) for one in each if one.is_done]
    held = [_result(one, slices[one.path]) for one in each if not one.is_done]
    if done:
        yield f"{count(len(done), 'result')} {'has' if len(done) == 1 else 'have'} not landed:"
        yield from table(done, verbose=verbose)
    if held:
        yield f"{count(len(held), 'result')} {'is' if len(held) == 1 else 'are'} held before the merge:"
        yield from table(held, verbose=verbose)


def _result(one: UnlandedResult, slices: int) -> tuple[str, ...]:
    name = f"{one.path} ({count(slices, 'slice')})" if one.is_group else one.path
    return name, one.branch, one.command or "waits for the next run"


def _blocked(found: Sequence[Ineligible], *, verbose: bool) -> Iterator[str]:
    if found:
        yield f"{count(len(found), 'slice')} {'waits' if len(found) == 1 else 'wait'}:"
        yield from table([(one.path, one.reason) for one in found], verbose=verbose)


def _unread(found: Sequence[Ineligible]) -> Iterator[str]:
    reasons: defaultdict[str, list[str]] = defaultdict(list)
    for one in found:
        reasons[one.reason].append(one.path)
    for reason, paths in islice(reasons.items(), ROWS):
        yield f"Whether {few(paths)} can start is not known: {reason}"
    yield from more(len(reasons) - ROWS)
