"""Words about steps that take longer than they may."""

from weft.app.views.wording.words import count, span
from weft.forecast.spread import P90
from weft.forecast.timeouts import LateSteps


def late_words(late: LateSteps) -> str:
    """Returns a warning about a step whose estimate exceeds its timeout."""
    step = late.worst
    takes, timeout = span(step.estimate.seconds.at(P90)), span(step.timeout)
    others = f"; the same in {count(late.others, 'more slice')}" if late.others else ""
    return (
        f"{step.path}:{step.step} takes {takes} or more in one of ten runs, and its timeout of {timeout} ends"
        f" it{others}"
    )
