"""What `weft check` does: a plan, and what can be said about it before it is run."""

import os
from collections.abc import Mapping

from weft.app.files import Source
from weft.app.plan_history import changed_together
from weft.app.plans import NO_FLAGS, Flags, folder_of, load
from weft.garbage import without_gc
from weft.plan.compile.compile import compile_plan
from weft.plan.proof.prove import prove
from weft.plan.report.check import CheckReport, check_report


def check(source: Source, *, flags: Flags = NO_FLAGS, environ: Mapping[str, str] = os.environ) -> CheckReport:
    with without_gc():
        compiled = compile_plan(load(source, flags=flags, environ=environ))
        history = changed_together(compiled.plan, folder_of(source), environ)
        return check_report(compiled, prove(compiled), history)
