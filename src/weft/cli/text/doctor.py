"""Output of `weft doctor`."""

from collections.abc import Iterable, Iterator

from weft.app.doctor.examination import CheckResult, DoctorReport
from weft.app.doctor.findings import FindingState
from weft.cli.terminal import Row

_ORDER = (FindingState.PROBLEM, FindingState.UNKNOWN, FindingState.WARNING, FindingState.FIXED)
"""What matters most comes first."""
_PLURALS = {FindingState.PROBLEM: "problems", FindingState.WARNING: "warnings"}


def report_lines(report: DoctorReport, *, verbose: bool, fix: bool) -> Iterator[str]:
    for state in _ORDER:
        yield from _lines(report.of(state))
    if verbose:
        yield from (_fine(result) for result in report.of(FindingState.OK))
    yield _summary(report)
    if not fix and any(result.finding.fix for result in report.results):
        yield "to fix what is safe to fix, type: weft doctor --fix"


def _lines(results: Iterable[CheckResult]) -> Iterator[str]:
    """Yields the results; checks that could not be made for the same reason are printed together."""
    reasons: dict[str, list[CheckResult]] = {}
    for result in results:
        # Without git, for example, many checks are unknown for one reason. Other results are never joined.
        reasons.setdefault(
            result.finding.found if result.state is FindingState.UNKNOWN else str(id(result)), []
        ).append(result)
    for group in reasons.values():
        yield from _group_lines(group)


def _group_lines(group: list[CheckResult]) -> Iterator[str]:
    first = group[0]
    names = ", ".join(dict.fromkeys(result.check.id for result in group))
    yield Row(f"{first.state}: {names}: {first.finding.found}", hang=4)
    if first.state in {FindingState.FIXED, FindingState.UNKNOWN}:
        return
    yield Row(f"  why it matters: {first.check.why}", hang=4)
    if first.finding.command:
        yield f"  type: {first.finding.command}"
    if first.finding.advice:
        yield f"  what to do: {first.finding.advice}"
    if first.tried:
        yield f"  the fix failed: {first.tried}"


def _fine(result: CheckResult) -> str:
    return Row(
        f"ok: {result.check.id}: {result.finding.found}"
        if result.finding.found
        else f"ok: {result.check.id}",
        4,
    )


def _summary(report: DoctorReport) -> str:
    if report.is_healthy:
        return "healthy"
    counts = {state: len(report.of(state)) for state in _ORDER}
    words = [_count(count, state) for state, count in counts.items() if count]
    return ", ".join(words)


def _count(count: int, state: FindingState) -> str:
    if state in _PLURALS:
        return f"{count} {state if count == 1 else _PLURALS[state]}"
    return f"{count} {state}"


def report_data(report: DoctorReport) -> dict[str, object]:
    return {
        "project": str(report.project),
        "healthy": report.is_healthy,
        "counts": {str(state): len(report.of(state)) for state in FindingState},
        "findings": [
            {
                "check": result.check.id,
                "state": str(result.state),
                "found": result.finding.found or None,
                "subject": result.finding.subject or None,
                "why": result.check.why,
                "command": result.finding.command or None,
                "advice": result.finding.advice or None,
                "fixable": result.finding.fix is not None,
                "tried": result.tried or None,
            }
            for result in report.results
        ],
    }
