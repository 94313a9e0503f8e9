"""Lines about pairs of subplans that can touch the same files."""

from collections.abc import Iterator, Sequence

from weft.cli.text.sections import count, table
from weft.plan.report.companions import Companions
from weft.plan.report.overlaps import Apart, OverlapPair, OverlapReport

BY_OVERLAP = "By: the automata of two patterns have a path in common."
BY_HISTORY = "By: three or more of the last 1,000 commits touched both files, merges not counted."
_APART = {
    Apart.NOTHING: "may run together",
    Apart.DEPENDS_ON: "one waits for the other",
    Apart.SERIALIZE: "kept apart (overlap: serialize)",
    Apart.MAX_PARALLEL: "one slice at a time (max_parallel)",
    Apart.SERIAL: "one step at a time (policy: serial)",
}


def overlap_lines(overlaps: OverlapReport, *, verbose: bool) -> Iterator[str]:
    pairs = overlaps.pairs
    if pairs:
        # The comparison of patterns stops at a limit, so there may be more pairs.
        least = "At least " if overlaps.more else ""
        yield f"{least}{count(len(pairs), 'pair')} of subplans can touch the same files:"
        yield from table([_pair(pair, verbose=verbose) for pair in pairs], verbose=verbose)
        yield from [BY_OVERLAP] if verbose else []
    if any(pair.apart is Apart.NOTHING for pair in pairs):
        yield "Order them with depends_on, or keep them apart with overlap: serialize."
    if overlaps.more and not pairs:
        yield "There are too many patterns in files: to compute which subplans can touch the same files."
    yield from _companions(overlaps.companions, verbose=verbose)


def _companions(pairs: Sequence[Companions], *, verbose: bool) -> Iterator[str]:
    if pairs:
        files = "files that used to change together"
        yield f"{count(len(pairs), 'pair')} of subplans may run together and own {files}:"
        yield from table([_companion(pair, verbose=verbose) for pair in pairs], verbose=verbose)
        yield from [BY_HISTORY] if verbose else []


def _companion(pair: Companions, *, verbose: bool) -> tuple[str, ...]:
    files = pair.files if verbose else pair.files[:1]
    shown = "; ".join(f"{change.first}, {change.second} ({change.times:,} times)" for change in files)
    return f"{pair.first} and {pair.second}", shown, _more(len(pair.files) - len(files) + pair.more)


def _pair(pair: OverlapPair, *, verbose: bool) -> tuple[str, ...]:
    shared = pair.shared if verbose else pair.shared[:1]
    patterns = "; ".join(
        pattern if pattern == second_pattern else f"{pattern}, {second_pattern}"
        for pattern, second_pattern in shared
    )
    more = _more(len(pair.shared) - len(shared) + pair.more)
    return f"{pair.first} and {pair.second}", f"{patterns} {more}".rstrip(), _APART[pair.apart]


def _more(number: int) -> str:
    return f"and {number:,} more" if number else ""
