"""`weft check`: report on a plan before it runs, and list the slices that can start now."""

import os
from collections.abc import Iterator, Mapping

from msgspec import Struct, structs

from weft.app.agents.programs import MissingProgram, missing_programs
from weft.app.check.change_history import changed_together
from weft.app.check.eligibility import eligibility_of
from weft.app.check.eligibility_rules import Eligibility
from weft.app.check.timeouts import timeout_warnings
from weft.app.history.ceiling_use import EarlierRuns, read_earlier_runs
from weft.app.preflight.findings import PreflightFinding, warning
from weft.app.preflight.preflight import preflight
from weft.app.project.files import InputSource
from weft.app.project.places import project_of
from weft.app.project.plans import NO_FLAGS, Flags, folder_of, load
from weft.garbage import without_gc
from weft.plan.compile.compile import compile_plan
from weft.plan.model import Plan
from weft.plan.order.outline import ROOT
from weft.plan.proof.prove import prove
from weft.plan.report.check import CheckReport, check_report


class PlanCheck(Struct, frozen=True):
    report: CheckReport
    eligibility: Eligibility
    missing: tuple[MissingProgram, ...] = ()
    """Programs that the plan's agents need and that are missing on this machine."""
    findings: tuple[PreflightFinding, ...] = ()
    """The findings of the preflight."""
    earlier: EarlierRuns = EarlierRuns()

    @property
    def is_refused(self) -> bool:
        """Whether a run of the plan would be refused here."""
        return any(finding.refuses for finding in self.findings)

    def to_json(self) -> dict[str, object]:
        return {
            **self.report.to_json(),
            **self.eligibility.to_json(),
            "missing_programs": [structs.asdict(item) for item in self.missing],
            "earlier_runs": self.earlier.to_json(),
            "preflight": [item.to_json() for item in self.findings],
        }


def check(
    source: InputSource,
    *,
    flags: Flags = NO_FLAGS,
    environ: Mapping[str, str] = os.environ,
    plan_only: bool = False,
) -> PlanCheck:
    """Checks a plan. With `plan_only`, it does not check this machine and this repository."""
    with without_gc():
        compiled = compile_plan(load(source, flags=flags, environ=environ))
        folder = folder_of(source)
        history = changed_together(compiled.plan, folder, environ)
        report = check_report(compiled, prove(compiled), history)
        warnings = (*report.plan_warnings, *timeout_warnings(compiled.plan))
        report = structs.replace(report, plan_warnings=warnings)
        eligibility = eligibility_of(compiled, folder, environ=environ)
        earlier = read_earlier_runs(compiled.plan, project_of(folder).journal)
        if plan_only:
            return PlanCheck(report, eligibility, earlier=earlier)
        # A missing program is no obstacle for a slice that the next run does not repeat.
        done = {subplan.path for subplan in eligibility.ineligible if subplan.is_done}
        checks = preflight(compiled.plan, folder, environ, done=done)
        missing = missing_programs(compiled.plan, environ, done=done)
        return PlanCheck(
            report,
            eligibility,
            tuple(missing),
            (*checks.findings, *_warn_without_verify(compiled.plan)),
            earlier,
        )


def _warn_without_verify(plan: Plan) -> Iterator[PreflightFinding]:
    """Yields a warning if several slices land in git and the plan has no verify of the combined result."""
    slices = [row for row, is_leaf in enumerate(plan.outline.leaves) if is_leaf]
    lands = any(plan.scopes[row].settings.has_branch for row in slices)
    if lands and len(slices) > 1 and not plan.subplans[ROOT].verify:
        message = "the plan has no verify, so nothing checks what its subplans do together before it lands"
        yield warning("verify", f"{message}; write `verify: COMMAND` at the top of {plan.document.file}")
