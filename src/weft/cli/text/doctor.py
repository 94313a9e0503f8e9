"""How `weft doctor` tells what it has found."""

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
        yield from (_fine(one) for one in report.of(FindingState.OK))
    yield _summary(report)
    if not fix and any(one.finding.mend for one in report.told):
        yield "to mend what is safe to mend, type: weft doctor --fix"


def _lines(told: Iterable[CheckResult]) -> Iterator[str]:
    """What several checks could not find out for one reason is told once."""
    reasons: dict[str, list[CheckResult]] = {}
    for one in told:
        reasons.setdefault(
            one.finding.found if one.state is FindingState.UNKNOWN else str(id(one)), []
        ).append(one)
    for together in reasons.values():
        yield from _told(together)


def _told(together: list[CheckResult]) -> Iterator[str]:
    one = together[0]
    names = ", ".join(dict.fromkeys(told.check.id for told in together))
    yield Row(f"{one.state}: {names}: {one.finding.found}", hang=4)
    if one.state in {FindingState.FIXED, FindingState.UNKNOWN}:
        return
    yield Row(f"  why it matters: {one.check.why}", hang=4)
    if one.finding.command:
        yield f"  what helps: {one.finding.command}"
    if one.finding.advice:
        yield f"  what to do: {one.finding.advice}"
    if one.tried:
        yield f"  it could not be mended: {one.tried}"


def _fine(one: CheckResult) -> str:
    return Row(f"ok: {one.check.id}: {one.finding.found}" if one.finding.found else f"ok: {one.check.id}", 4)


def _summary(report: DoctorReport) -> str:
    if report.is_healthy:
        return "healthy"
    counts = {state: len(report.of(state)) for state in _ORDER}
    words = [_counted(count, state) for state, count in counts.items() if count]
    return ", ".join(words)


def _counted(count: int, state: FindingState) -> str:
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
                "check": one.check.id,
                "state": str(one.state),
                "found": one.finding.found or None,
                "subject": one.finding.subject or None,
                "why": one.check.why,
                "command": one.finding.command or None,
                "advice": one.finding.advice or None,
                "fixable": one.finding.mend is not None,
                "tried": one.tried or None,
            }
            for one in report.told
        ],
    }
