"""Lines about the slices that can start now and the reasons why others cannot; few even for a large plan."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice

from weft.app.check.eligibility_rules import BlockKind, Eligibility, Eligible, Ineligible, UnlandedResult
from weft.cli.text.sections import MORE_ROWS, ROWS, count, few, more, section, table


def eligibility_lines(eligibility: Eligibility, *, verbose: bool = False) -> Iterator[str]:
    """Yields the lines, slices that can start first."""
    by_kind: defaultdict[BlockKind, list[Ineligible]] = defaultdict(list)
    for slice_ in eligibility.ineligible:
        by_kind[slice_.kind].append(slice_)
    # Unmerged work is done as well: the next run does not repeat it.
    complete = by_kind[BlockKind.COMPLETE] + by_kind[BlockKind.UNMERGED]
    is_over = len(complete) == len(eligibility.ineligible)
    yield from section("Start", _start(eligibility.eligible, is_over=is_over, verbose=verbose))
    yield from section("Done", _done(by_kind[BlockKind.COMPLETE], verbose=verbose))
    yield from section("Unmerged", _unmerged(by_kind[BlockKind.UNMERGED], verbose=verbose))
    yield from section("Blocked", _blocked(by_kind[BlockKind.BLOCKED], verbose=verbose))
    yield from section("Unread", _unread(by_kind[BlockKind.UNREADABLE]))


def _start(slices: Sequence[Eligible], *, is_over: bool, verbose: bool) -> Iterator[str]:
    free = [slice_.path for slice_ in slices if not slice_.after]
    ready = [(slice_.path, ", ".join(slice_.after)) for slice_ in slices if slice_.after]
    if not slices:
        yield "Nothing is left to start." if is_over else "No slice can start right away."
    if free:
        yield f"{_can_start(free)}, with nothing {_they('depend', free)} on: {few(free, ROWS)}."
    if ready:
        yield f"{_can_start(ready)}, as all {_they('depend', ready)} on is complete:"
        yield from table(ready, verbose=verbose)


def _can_start(slices: Sequence[object]) -> str:
    return f"{count(len(slices), 'slice')} can start right away"


def _they(verb: str, slices: Sequence[object]) -> str:
    return f"it {verb}s" if len(slices) == 1 else f"they {verb}"


def _done(slices: Sequence[Ineligible], *, verbose: bool) -> Iterator[str]:
    runs: defaultdict[str, list[str]] = defaultdict(list)
    for slice_ in slices:
        runs[slice_.run].append(slice_.path)
    most = MORE_ROWS if verbose else ROWS
    for run, paths in islice(runs.items(), most):
        are = "is" if len(paths) == 1 else "are"
        yield f"{count(len(paths), 'slice')} {are} already complete, by run {run}: {few(paths, ROWS)}."
    yield from more(len(runs) - most)


def _unmerged(blocked: Sequence[Ineligible], *, verbose: bool) -> Iterator[str]:
    """Yields each result that has not landed, once even if it holds several slices."""
    results = [slice_.unlanded for slice_ in blocked if slice_.unlanded is not None]
    slices = Counter(result.path for result in results)
    distinct = {result.path: result for result in results}.values()
    completed = [_result(result, slices[result.path]) for result in distinct if result.is_done]
    held = [_result(result, slices[result.path]) for result in distinct if not result.is_done]
    if completed:
        yield f"{count(len(completed), 'result')} {'has' if len(completed) == 1 else 'have'} not landed:"
        yield from table(completed, verbose=verbose)
    if held:
        yield f"{count(len(held), 'result')} {'is' if len(held) == 1 else 'are'} held before the merge:"
        yield from table(held, verbose=verbose)


def _result(result: UnlandedResult, slices: int) -> tuple[str, ...]:
    name = f"{result.path} ({count(slices, 'slice')})" if result.is_group else result.path
    return name, result.branch, result.command or "waits for the next run"


def _blocked(blocked: Sequence[Ineligible], *, verbose: bool) -> Iterator[str]:
    if blocked:
        yield f"{count(len(blocked), 'slice')} {'waits' if len(blocked) == 1 else 'wait'}:"
        yield from table([(slice_.path, slice_.reason) for slice_ in blocked], verbose=verbose)


def _unread(blocked: Sequence[Ineligible]) -> Iterator[str]:
    reasons: defaultdict[str, list[str]] = defaultdict(list)
    for slice_ in blocked:
        reasons[slice_.reason].append(slice_.path)
    for reason, paths in islice(reasons.items(), ROWS):
        yield f"Whether {few(paths)} can start is not known: {reason}"
    yield from more(len(reasons) - ROWS)
