"""Which slices can start now: what `weft check` and the head of `weft start` report.

The plan says what waits for what; the journal says what earlier runs have completed, and what of that has landed.
Whoever asks disturbs nobody: the journal is only read, and git is asked only about results that have not landed.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from weft.app.check.eligibility_rules import Eligibility, judge
from weft.app.project.places import project_of
from weft.plan.compile.plan_net import CompiledPlan


def eligibility_of(
    compiled: CompiledPlan, folder: Path, *, fresh: bool = False, environ: Mapping[str, str] = os.environ
) -> Eligibility:
    """Of a plan that lies in this directory, by the journal of its project, if there is one.

    `fresh`: for a run that does everything again, whatever earlier runs have completed.
    """
    journal = project_of(folder).journal
    if fresh or not os.path.lexists(journal):
        return judge(compiled)
    from weft.app.check.eligibility_facts import facts_of  # noqa: PLC0415 - of no use where nothing was ever run

    return judge(compiled, facts_of(compiled.plan, journal, folder, environ))
