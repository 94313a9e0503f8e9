"""What an error of an agent's program means for the step: whether another try helps, and what a person must do.

limited  the provider wants a pause: 429, 529, quotas. It is done again then, and no attempt is counted.
infra    it was not the work's fault, and may be better in a moment: 5xx, a broken connection.
failed   all else. What a try again cannot help says what does: a key, a model, a conversation that is gone.

A status that the provider gave decides. Only without one the words are looked at, and there alone what the program
gave as its error; never what an agent wrote about its work.
"""

import re

from msgspec import Struct

from weft.agents.limits import limit_met, reset_time
from weft.agents.resets import told_end
from weft.agents.words import one_line
from weft.engine.run.facts import How


class Program(Struct, frozen=True, kw_only=True):
    """What people are told about an agent's program."""

    use: str
    """As a plan names it."""
    name: str
    end: str
    """What it writes at the end of all that is well."""
    sign_in: str
    """What to do if it has no key, or a wrong one."""


class Failure(Struct, frozen=True, kw_only=True):
    text: str
    status: int | None = None
    """Of HTTP."""
    until: float | None = None
    """When to try again, if the provider said so apart from the text."""


class Meaning(Struct, frozen=True, kw_only=True):
    how: How
    message: str
    lasting: bool = False
    """Whether another try cannot help."""
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
    r"invalid session (?:id|identifier)|the conversation '[^']*' cannot be gone on with: \[Errno 2\]|"
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
_IN_USE = re.compile(
    r"error returned from database|database (?:table )?is locked|^failed query:", re.IGNORECASE
)
"""Of several that begin at once in a home where the program was never used: goose, OpenCode make theirs then."""
_TOO_MANY = (429, 529)
_TIMEOUT, _SERVER = 408, 500
_REFUSED = (401, 403)
_NOT_FOUND = 404


def meaning(failure: Failure, program: Program, *, at: float, asked_for: str = "") -> Meaning:
    """`asked_for`: the model, and whose choice it was."""
    text = failure.text[:_LONGEST]
    status = failure.status or _status(text)
    said = one_line(text)
    if _is_limit(text, status):
        until = reset_time(failure.until or told_end(text, at=at), at=at)
        return Meaning(how=How.LIMITED, message=f"it met a usage limit: {said}", until=until)
    if _is_passing(text, status):
        return Meaning(how=How.INFRA, message=f"the model could not be reached: {said}")
    if status is None and _IN_USE.search(text):
        return Meaning(how=How.INFRA, message=f"its own files were in use: {said}")
    advice = _advice(text, status, program, asked_for)
    return Meaning(how=How.FAILED, message=said + advice, lasting=is_lasting(text, status))


def is_gone(failure: Failure | None) -> bool:
    """Whether the conversation that was to be gone on with is not there."""
    return failure is not None and _SESSION.search(failure.text[:_LONGEST]) is not None


def _status(text: str) -> int | None:
    found = _STATUS.search(text)
    return None if found is None else int(found[1] or found[2])


def _is_limit(text: str, status: int | None) -> bool:
    if status is None:
        return limit_met(text) is not None or re.search(r"rate limited you", text) is not None
    return status in _TOO_MANY


def _is_passing(text: str, status: int | None) -> bool:
    if status is None:
        return not is_lasting(text) and _PASSING.search(text) is not None
    return status >= _SERVER or status == _TIMEOUT


def is_lasting(error: str, status: int | None = None) -> bool:
    """Whether an error needs a person: a key, a model or a conversation that is not there."""
    text = error[:_LONGEST]
    status = status or _status(text)
    if status is not None and status in (*_REFUSED, _NOT_FOUND):
        return True
    return status is None and any(words.search(text) for words in (_KEY, _SESSION, _MODEL))


def _advice(text: str, status: int | None, program: Program, asked_for: str) -> str:
    if status in _REFUSED or (status is None and _KEY.search(text)):
        return f"; {program.sign_in}"
    if _SESSION.search(text):
        return (
            f"; {program.name} keeps conversations on the machine and for the directory they were held in: "
            "take `resume` out of the step, or run the step before it again"
        )
    if status == _NOT_FOUND or _MODEL.search(text):
        said = f"; {asked_for}" if asked_for else ""
        return f"{said}; name a model that the provider has, with `model` of the agent or the step"
    return ""
