"""What `weft check` does: a plan, what can be said about it before it is run, and what of it can start now."""

import os
from collections.abc import Mapping

from msgspec import Struct, structs

from weft.app.agent_programs import Missing, missing_programs
from weft.app.eligibility import eligibility_of
from weft.app.eligible import Eligibility
from weft.app.files import Source
from weft.app.plan_history import changed_together
from weft.app.plans import NO_FLAGS, Flags, folder_of, load
from weft.app.sandboxes import warnings
from weft.garbage import without_gc
from weft.plan.compile.compile import compile_plan
from weft.plan.proof.prove import prove
from weft.plan.report.check import CheckReport, check_report


class Checked(Struct, frozen=True):
    report: CheckReport
    eligibility: Eligibility
    missing: tuple[Missing, ...] = ()
    """Programs that agents of the plan need, and this machine does not have."""

    def to_json(self) -> dict[str, object]:
        missing = [structs.asdict(one) for one in self.missing]
        return self.report.to_json() | self.eligibility.to_json() | {"missing_programs": missing}


def check(source: Source, *, flags: Flags = NO_FLAGS, environ: Mapping[str, str] = os.environ) -> Checked:
    with without_gc():
        compiled = compile_plan(load(source, flags=flags, environ=environ))
        folder = folder_of(source)
        history = changed_together(compiled.plan, folder, environ)
        report = check_report(compiled, prove(compiled), history)
        said = (*report.plan_warnings, *warnings(compiled.plan, environ))
        report = structs.replace(report, plan_warnings=said)
        return Checked(
            report,
            eligibility_of(compiled, folder, environ=environ),
            tuple(missing_programs(compiled.plan, environ)),
        )
