"""The slices that can start now, as `weft check` and the head of `weft start` report them.

The plan has the dependencies; the journal has the work that earlier runs completed and landed. The check does not
disturb a run: it only reads the journal, and it runs git only for results that have not landed.
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
    """Returns the eligibility of the slices of a plan in this directory, with the project's journal if it exists.

    `fresh` is for a run that repeats everything, including work that earlier runs have completed.
    """
    journal = project_of(folder).journal
    if fresh or not os.path.lexists(journal):
        return judge(compiled)
    from weft.app.check.eligibility_facts import facts_of  # noqa: PLC0415 - of no use where nothing was ever run

    return judge(compiled, facts_of(compiled.plan, journal, folder, environ))
