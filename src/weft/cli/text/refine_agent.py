"""`weft decompose --refine`: whom to ask."""

import os

from weft.app.agents.overview import at_hand
from weft.app.decompose.refine import TIMEOUT, refiner
from weft.app.decompose.refinement import Refine
from weft.cli.output import note
from weft.cli.plan_options import directory


def refine_by(name: str, *, model: str | None, timeout: float | None) -> Refine:
    found = at_hand(None, directory(), os.environ)
    if found.unread:
        note(f"{found.unread} cannot be read, and its agents are not known; type: weft check {found.unread}")
    return refiner(found, name, os.environ, model=model, timeout=timeout or TIMEOUT, tell=note).refine
