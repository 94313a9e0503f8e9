"""All checks are made, whatever becomes of one; on request what can be mended is, and then all are made again.

Nobody stands still while we look: a worktree may be made after the runs were read, and before the worktrees are.
So what is found wrong is looked at a second time, and what is told was seen both times.

A check that fails, or takes too long, is `unknown`: that is never taken for fine. It has a thread of its own,
which is left behind if need be.
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
"""Is told the id of each check before it is made."""


def nobody_watches(_id: str) -> None:
    pass


class CheckResult(Struct, frozen=True, kw_only=True):
    """What a check has found."""

    check: Check
    finding: Finding
    tried: str = ""
    """Why it could not be mended."""

    @property
    def state(self) -> FindingState:
        return self.finding.state

    @property
    def key(self) -> tuple[str, str]:
        return self.check.id, self.finding.subject


class DoctorReport(Struct, frozen=True, kw_only=True):
    project: Path
    told: tuple[CheckResult, ...]

    def of(self, *states: FindingState) -> list[CheckResult]:
        return [one for one in self.told if one.state in states]

    @property
    def is_healthy(self) -> bool:
        """Nothing is wrong, open, or worth a warning."""
        return not self.of(FindingState.PROBLEM, FindingState.UNKNOWN, FindingState.WARNING)


def doctor(
    directory: Path,
    *,
    fix: bool = False,
    environ: Mapping[str, str] = os.environ,
    bounds: Bounds = Bounds(),  # noqa: B008 - frozen
    checks: Sequence[Check] = CHECKS,
    watch: Watch = nobody_watches,
) -> DoctorReport:
    """What is found in the project that the directory belongs to; with `fix`, after what is safe was mended."""
    if fix:
        refuse_inside_step(directory, "weft doctor --fix", environ)
    make = partial(DoctorContext, directory, environ=environ, bounds=bounds)
    told = examine_twice(make, checks, watch=watch)
    if fix and any(one.finding.mend is not None for one in told):
        failed = _mend(told)
        told = _compared(told, examine_twice(make, checks, watch=watch), failed)
    return DoctorReport(project=make().places.project, told=tuple(told))


# --- looking ---


def examine_twice(
    make: Callable[[], DoctorContext], checks: Sequence[Check], *, watch: Watch = nobody_watches
) -> list[CheckResult]:
    """What is wrong only at the first look, as a run was just beginning or ending, is not wrong."""
    first = examine(make(), checks, watch=watch)
    found = {one.key for one in first if one.state is not FindingState.OK}
    doubtful = {name for name, _ in found}
    again = examine(make(), [check for check in checks if check.id in doubtful], watch=watch)
    lasting = [
        one for one in again if one.state in {FindingState.OK, FindingState.UNKNOWN} or one.key in found
    ]
    told: list[CheckResult] = []
    for check in checks:
        of_it = [one for one in (lasting if check.id in doubtful else first) if one.check.id == check.id]
        told += of_it or [CheckResult(check=check, finding=fine())]
    return told


def examine(
    ground: DoctorContext,
    checks: Sequence[Check],
    *,
    longest: float = LONGEST,
    watch: Watch = nobody_watches,
) -> list[CheckResult]:
    found: list[CheckResult] = []
    for check in checks:
        watch(check.id)
        findings = _in_time(check, ground, longest)
        found += [CheckResult(check=check, finding=one) for one in findings or [fine()]]
    return found


def _in_time(check: Check, ground: DoctorContext, longest: float) -> list[Finding]:
    answer = SimpleQueue[list[Finding]]()
    name = f"weft-doctor-{check.id}"
    thread = Thread(target=lambda: answer.put(_made(check, ground)), name=name, daemon=True)
    try:
        start_thread(thread)
        return answer.get(timeout=longest)
    except OSError as error:
        return [unknown(f"cannot be checked: {describe(error)}")]
    except Empty:
        return [unknown(f"it takes longer than {longest:g} s to find out")]


def _made(check: Check, ground: DoctorContext) -> list[Finding]:
    found: list[Finding] = []
    try:
        found += check.examine(ground)
    except Exception as error:  # noqa: BLE001 - whatever it is, the other checks are still to be made
        found.append(unknown(f"cannot be checked: {_reason(error)}"))
    return found


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return describe(error)
    return str(error) if isinstance(error, WeftError) else f"{type(error).__name__}: {error}"


# --- mending ---


def _mend(told: Sequence[CheckResult]) -> dict[tuple[str, str], str]:
    """Why something could not be mended."""
    failed: dict[tuple[str, str], str] = {}
    for one in told:
        if one.finding.mend is not None:
            try:
                one.finding.mend()
            except Exception as error:  # noqa: BLE001 - whatever it is, the rest is still to be mended
                failed[one.key] = _reason(error)
    return failed


def _compared(
    before: Sequence[CheckResult], after: Sequence[CheckResult], failed: Mapping[tuple[str, str], str]
) -> list[CheckResult]:
    """What is found now, and in its place what was mended meanwhile."""
    still = {one.key for one in after if one.state is not FindingState.OK}
    unclear = {one.check.id for one in after if one.state is FindingState.UNKNOWN}
    mended = [
        structs.replace(one, finding=structs.replace(one.finding, state=FindingState.FIXED, mend=None))
        for one in before
        if one.finding.mend is not None and one.key not in still and one.check.id not in unclear
    ]
    order = [check.id for check in dict.fromkeys(one.check for one in before)]
    said = [structs.replace(one, tried=failed.get(one.key, "")) for one in after]
    busy = {one.check.id for one in mended}
    said = [
        one
        for one in said
        if not (one.state is FindingState.OK and not one.finding.found and one.check.id in busy)
    ]
    return sorted([*mended, *said], key=lambda one: order.index(one.check.id))
