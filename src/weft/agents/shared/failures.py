"""Diagnose the error of an agent's program: whether a retry can help, and what the user must do.

limited  the provider asks for a pause: 429, 529, quotas. The step runs again later, and no attempt is counted.
infra    a temporary fault outside the work: 5xx, a broken connection.
failed   everything else. Where a retry cannot help (key, model, lost conversation), the message says what does.

The HTTP status decides if the provider sent one. Otherwise the text of the error is searched, but only the text
that the program reported as its error, never what an agent wrote about its work.
"""

import re

from msgspec import Struct

from weft.agents.shared.reset_times import find_reset_time
from weft.agents.shared.text import one_line
from weft.agents.shared.usage_limits import clamp_reset_time, find_limit_line
from weft.engine.messages.facts import StepOutcome
from weft.plan.agent_program import AgentProgram


class ReportedFailure(Struct, frozen=True, kw_only=True):
    """An error that a program reported."""

    text: str
    status: int | None = None
    """The HTTP status."""
    until: float | None = None
    """The time to try again, if the provider sent it separately from the text."""


class Diagnosis(Struct, frozen=True, kw_only=True):
    """The consequence of a failure for the step, with a message for the user."""

    how: StepOutcome
    message: str
    lasting: bool = False
    """Whether a retry cannot help."""
    until: float | None = None


_LONGEST = 10_000
_STATUS = re.compile(
    r"(?:\bstatus(?:[ _]code)?|\bhttp(?:/[\d.]+)?|\b(?:api|server) error|\berror code|[\"']code[\"'])"
    r"[\"':=\s(]{1,4}([45]\d\d)\b|^\W{0,3}([45]\d\d)\s",
    re.IGNORECASE,
)
_KEY = re.compile(
    r"unauthori[sz]ed|unauthenticated|authentication[ _]?(?:error|failed)|failed to authenticate|"
    r"not logged in|/login\b|\b(?:no|invalid|incorrect|missing|wrong)\s(?:api[ _-]?)?(?:key|credentials)\b|"
    r"api[ _-]?key (?:not|is not|required|expired)|missing environment variable|set an auth method|"
    r"not able to authenticate|no provider configured",
    re.IGNORECASE,
)
_SESSION = re.compile(
    r"no (?:previous )?(?:conversation|session|rollout)s? found|(?:session|conversation) (?:was )?not found|"
    r"invalid session (?:id|identifier)|the conversation '[^']*' cannot be resumed: \[Errno 2\]|"
    r"there is no conversation '",
    re.IGNORECASE,
)
_MODEL = re.compile(
    r"models?\b.{0,80}?(?:not found|does not exist|is not supported|not available)|"
    r"(?:unknown|invalid|no such) model|NotFoundError|resource not found",
    re.IGNORECASE,
)
_PASSING = re.compile(
    r"ECONN(?:REFUSED|RESET|ABORTED)|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EPIPE|socket hang up|fetch failed|"
    r"network error|connection (?:error|refused|reset|closed|aborted|timed out)|could not connect|"
    r"failed to resolve|request (?:failed|timed out)|stream (?:disconnected|closed|ended)|incomplete json|"
    r"empty or malformed response|empty or invalid response|high demand|internal server error|bad gateway|"
    r"service unavailable|gateway time-?out|InternalServerError|ServiceUnavailableError|APIConnectionError|"
    r"\bAPIError\b|litellm\.Timeout|servers are down|infrastructure_failure",
    re.IGNORECASE,
)
_FILES_IN_USE = re.compile(
    r"error returned from database|database (?:table )?is locked|^failed query:", re.IGNORECASE
)
"""goose and OpenCode create a database on first use. Several that start at once in a new home collide there."""
_TOO_MANY = (429, 529)
_TIMEOUT, _SERVER = 408, 500
_REFUSED = (401, 403)
_NOT_FOUND = 404


def diagnose(
    failure: ReportedFailure, program: AgentProgram, *, at: float, model_origin: str = ""
) -> Diagnosis:
    """Sorts a failure into limited, infra or failed. `model_origin` names the part of the plan with the model."""
    # The patterns are not linear in the worst case, and an agent can report megabytes as its error.
    text = failure.text[:_LONGEST]
    status = failure.status or _status(text)
    message = one_line(text)
    # The order matters: a limit is often sent with a text that also matches a passing fault or a missing model.
    if _is_limit(text, status):
        until = clamp_reset_time(failure.until or find_reset_time(text, at=at), at=at)
        return Diagnosis(how=StepOutcome.LIMITED, message=f"it met a usage limit: {message}", until=until)
    if _is_passing(text, status):
        return Diagnosis(how=StepOutcome.INFRA, message=f"the model could not be reached: {message}")
    if status is None and _FILES_IN_USE.search(text):
        return Diagnosis(how=StepOutcome.INFRA, message=f"its own files were in use: {message}")
    advice = _advice(text, status, program, model_origin)
    return Diagnosis(how=StepOutcome.FAILED, message=message + advice, lasting=is_lasting(text, status))


def is_session_gone(failure: ReportedFailure | None) -> bool:
    """Returns whether the conversation that the step was to resume no longer exists."""
    return failure is not None and _SESSION.search(failure.text[:_LONGEST]) is not None


def _status(text: str) -> int | None:
    match = _STATUS.search(text)
    return None if match is None else int(match[1] or match[2])


def _is_limit(text: str, status: int | None) -> bool:
    if status is None:
        return find_limit_line(text) is not None or re.search(r"rate limited you", text) is not None
    return status in _TOO_MANY


def _is_passing(text: str, status: int | None) -> bool:
    if status is None:
        # A message about a bad key may also mention the connection; the lasting cause takes precedence.
        return not is_lasting(text) and _PASSING.search(text) is not None
    return status >= _SERVER or status == _TIMEOUT


def is_lasting(error: str, status: int | None = None) -> bool:
    """Returns whether only the user can fix the error: a bad key, an unknown model, a lost conversation."""
    text = error[:_LONGEST]
    status = status or _status(text)
    if status is not None and status in (*_REFUSED, _NOT_FOUND):
        return True
    # The text is searched only without a status, which is more reliable.
    return status is None and any(pattern.search(text) for pattern in (_KEY, _SESSION, _MODEL))


def _advice(text: str, status: int | None, program: AgentProgram, model_origin: str) -> str:
    if status in _REFUSED or (status is None and _KEY.search(text)):
        return f"; {program.sign_in}"
    if _SESSION.search(text):
        return (
            f"; {program.title} stores conversations on one machine and for one directory: "
            "take `resume` out of the step, or run the step before it again"
        )
    if status == _NOT_FOUND or _MODEL.search(text):
        origin = f"; {model_origin}" if model_origin else ""
        return f"{origin}; name a model that the provider has, with `model` of the agent or the step"
    return ""
