"""Makes all checks, even if some fail; with `--fix`, fixes what is safe and makes all checks again.

The project changes meanwhile: a worktree may appear after the runs were read and before the worktrees are. So each
check that finds something is made a second time, and only findings of both times are reported.

A check that fails or takes too long is `unknown`, which never counts as fine. It runs in a thread of its own,
which is abandoned if it hangs.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread

from msgspec import Struct, structs

from weft.app.doctor.catalogue import CHECKS
from weft.app.doctor.context import Bounds, DoctorContext
from weft.app.doctor.findings import Check, Finding, FindingState, fine, unknown
from weft.app.project.step_limits import refuse_inside_step
from weft.errors import WeftError
from weft.system_errors import describe
from weft.threads import start_thread

LONGEST = 30.0
"""Seconds for one check."""

Watch = Callable[[str], None]
"""A function that gets the id of each check before it is made."""


def ignore_progress(_id: str) -> None:
    pass


class CheckResult(Struct, frozen=True, kw_only=True):
    """A finding of a check."""

    check: Check
    finding: Finding
    tried: str = ""
    """Why it could not be fixed."""

    @property
    def state(self) -> FindingState:
        return self.finding.state

    @property
    def key(self) -> tuple[str, str]:
        return self.check.id, self.finding.subject


class DoctorReport(Struct, frozen=True, kw_only=True):
    """The findings of all checks."""

    project: Path
    results: tuple[CheckResult, ...]

    def of(self, *states: FindingState) -> list[CheckResult]:
        return [result for result in self.results if result.state in states]

    @property
    def is_healthy(self) -> bool:
        """Whether there are no problems, no warnings and nothing unknown."""
        return not self.of(FindingState.PROBLEM, FindingState.UNKNOWN, FindingState.WARNING)


def doctor(
    directory: Path,
    *,
    fix: bool = False,
    environ: Mapping[str, str] = os.environ,
    bounds: Bounds = Bounds(),  # noqa: B008 - frozen
    checks: Sequence[Check] = CHECKS,
    watch: Watch = ignore_progress,
) -> DoctorReport:
    """Returns the findings in the project around the directory; with `fix`, after the safe fixes."""
    if fix:
        refuse_inside_step(directory, "weft doctor --fix", environ)
    make = partial(DoctorContext, directory, environ=environ, bounds=bounds)
    results = examine_twice(make, checks, watch=watch)
    if fix and any(result.finding.fix is not None for result in results):
        failed = _apply_fixes(results)
        results = _compare_findings(results, examine_twice(make, checks, watch=watch), failed)
    return DoctorReport(project=make().places.project, results=tuple(results))


# --- checks ---


def examine_twice(
    make: Callable[[], DoctorContext], checks: Sequence[Check], *, watch: Watch = ignore_progress
) -> list[CheckResult]:
    """Makes the checks twice. A problem of the first time only, as when a run was just starting, is dropped."""
    first = examine(make(), checks, watch=watch)
    suspects = {result.key for result in first if result.state is not FindingState.OK}
    doubtful = {name for name, _ in suspects}
    second = examine(make(), [check for check in checks if check.id in doubtful], watch=watch)
    lasting = [
        result
        for result in second
        if result.state in {FindingState.OK, FindingState.UNKNOWN} or result.key in suspects
    ]
    results: list[CheckResult] = []
    for check in checks:
        of_check = [
            result for result in (lasting if check.id in doubtful else first) if result.check.id == check.id
        ]
        results += of_check or [CheckResult(check=check, finding=fine())]
    return results


def examine(
    context: DoctorContext,
    checks: Sequence[Check],
    *,
    longest: float = LONGEST,
    watch: Watch = ignore_progress,
) -> list[CheckResult]:
    results: list[CheckResult] = []
    for check in checks:
        watch(check.id)
        findings = _in_time(check, context, longest)
        results += [CheckResult(check=check, finding=finding) for finding in findings or [fine()]]
    return results


def _in_time(check: Check, context: DoctorContext, longest: float) -> list[Finding]:
    answer = SimpleQueue[list[Finding]]()
    name = f"weft-doctor-{check.id}"
    # A thread that waits for a dead network disk cannot be ended; a daemon thread does not keep the process alive.
    thread = Thread(target=lambda: answer.put(_findings(check, context)), name=name, daemon=True)
    try:
        start_thread(thread)
        return answer.get(timeout=longest)
    except OSError as error:
        return [unknown(f"cannot be checked: {describe(error)}")]
    except Empty:
        return [unknown(f"the check takes longer than {longest:g} s")]


def _findings(check: Check, context: DoctorContext) -> list[Finding]:
    findings: list[Finding] = []
    try:
        findings += check.examine(context)
    except Exception as error:  # noqa: BLE001 - whatever it is, the other checks are still to be made
        findings.append(unknown(f"cannot be checked: {_reason(error)}"))
    return findings


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return describe(error)
    return str(error) if isinstance(error, WeftError) else f"{type(error).__name__}: {error}"


# --- fixes ---


def _apply_fixes(results: Sequence[CheckResult]) -> dict[tuple[str, str], str]:
    """Applies the fixes, and returns why some failed."""
    failed: dict[tuple[str, str], str] = {}
    for result in results:
        if result.finding.fix is not None:
            try:
                result.finding.fix()
            except Exception as error:  # noqa: BLE001 - whatever it is, the rest is still to be fixed
                failed[result.key] = _reason(error)
    return failed


def _compare_findings(
    before: Sequence[CheckResult], after: Sequence[CheckResult], failed: Mapping[tuple[str, str], str]
) -> list[CheckResult]:
    """Returns the present findings, and the fixed ones in their places."""
    still = {result.key for result in after if result.state is not FindingState.OK}
    # A problem that could not be examined again has not been shown to be fixed.
    unclear = {result.check.id for result in after if result.state is FindingState.UNKNOWN}
    fixed = [
        structs.replace(result, finding=structs.replace(result.finding, state=FindingState.FIXED, fix=None))
        for result in before
        if result.finding.fix is not None and result.key not in still and result.check.id not in unclear
    ]
    order = [check.id for check in dict.fromkeys(result.check for result in before)]
    present = [structs.replace(result, tried=failed.get(result.key, "")) for result in after]
    fixed_checks = {result.check.id for result in fixed}
    present = [
        result
        for result in present
        if not (
            result.state is FindingState.OK and not result.finding.found and result.check.id in fixed_checks
        )
    ]
    return sorted([*fixed, *present], key=lambda result: order.index(result.check.id))
