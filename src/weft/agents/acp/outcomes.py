"""The possible ends of a conversation with a server, and how its responses map to them. Pure.

`failures` diagnoses the errors of a server like those of all programs. Failures that Weft itself detects need no
diagnosis.
"""

import re
from typing import NamedTuple

from weft.agents.shared.streams import as_text, list_objects, value_at
from weft.agents.shared.text import one_line

AUTH_REQUIRED = -32000
_UNAUTHORIZED = 401
_MOST_METHODS = 4
_STATUS = re.compile(r"\berror:?\s+([45]\d\d)\b", re.IGNORECASE)
_REASONS = {
    "refusal": "the model refused to continue",
    "max_tokens": "it met the limit on how many tokens it may write or read",
    "max_turn_requests": "it met its own limit on how often it asks the model in a turn",
    "cancelled": "it reports that its turn was cancelled, although Weft did not cancel it",
}
_GOOSE = "goose-provider"
_GOOSE_ERROR = "Ran into this error:"
_GOOSE_RETRY_SUFFIX = "\n\nPlease retry"
_GOOSE_LIMIT = "I've reached the maximum number of actions"


class TurnCompletion(NamedTuple):
    """A turn that ended normally, with the last message of the agent."""

    text: str


class TurnFailure(NamedTuple):
    """A failure with a certain reason."""

    why: str


class ServerError(NamedTuple):
    """An error text from the server, or from a process that died. `failures` diagnoses it."""

    text: str
    status: int | None = None
    """The HTTP status."""
    more: str = ""
    """An addition to the message."""


class Unavailable(NamedTuple):
    """A server that could not be started."""

    why: str


class TurnCancellation(NamedTuple):
    """A turn that Weft cancelled."""


End = TurnCompletion | TurnFailure | ServerError | Unavailable | TurnCancellation


def interpret_turn_end(
    name: str, introduction: object, result: object, text: str, *, did_nothing: bool
) -> End:
    """Returns the end that a response to `session/prompt` means."""
    reason = value_at(result, "stopReason")
    # `end_turn` alone proves nothing: goose reports errors as text, and a server without a working model ends
    # its turn at once.
    if reason == "end_turn":
        return _interpret_goose(introduction, text) or (
            TurnFailure(_DID_NOTHING.format(name=name)) if did_nothing else TurnCompletion(text)
        )
    reason_text = _REASONS.get(as_text(reason))
    detail = f" ({one_line(text)})" if text.strip() and reason == "refusal" else ""
    return TurnFailure(
        f"{reason_text}{detail}"
        if reason_text
        else f"it ended its turn for the reason {one_line(as_text(reason))!r}"
    )


_DID_NOTHING = "{name} ended its turn without a word, and without having done anything"


def _interpret_goose(introduction: object, text: str) -> End | None:
    """Returns the failure of a goose server, which reports its errors as messages of the model."""
    # Some versions introduce themselves without a name, but all offer a method of this id to sign in.
    name = as_text(value_at(introduction, "agentInfo", "name")).lower()
    method_ids = [method.get("id") for method in list_objects(value_at(introduction, "authMethods"))]
    if "goose" not in name and _GOOSE not in method_ids:
        return None
    if text.startswith(_GOOSE_ERROR):
        return ServerError(text.removeprefix(_GOOSE_ERROR).partition(_GOOSE_RETRY_SUFFIX)[0].strip())
    return TurnFailure(one_line(text)) if text.startswith(_GOOSE_LIMIT) else None


def interpret_error(method: str, error: object, session: str | None) -> ServerError:
    """Returns the error with which the server answered a request."""
    code, text = value_at(error, "code"), _error_text(error)
    if method != "session/prompt":
        text = f"{_describe_failure(method, session)}: {text}"
    if isinstance(code, int) and 400 <= code < 600:  # noqa: PLR2004 - codes of HTTP
        return ServerError(text, status=code)
    # Some servers use this code for other errors, too, so the text must mention authentication.
    if code == AUTH_REQUIRED and "auth" in text.lower():
        return ServerError(text, status=_UNAUTHORIZED)
    match = _STATUS.search(text)
    return ServerError(text, status=None if match is None else int(match[1]))


def _error_text(error: object) -> str:
    data = value_at(error, "data")
    details = [value_at(data, key) for key in ("message", "details", "detail", "reason", "error")]
    parts = [value_at(error, "message"), data if isinstance(data, str) else None, *details]
    # Servers put the useful part of an error into different fields, and often the same text into two of them.
    texts = dict.fromkeys(text.strip() for text in parts if isinstance(text, str) and text.strip())
    return ": ".join(texts) or as_text(error) or "it did not say why"


def _describe_failure(method: str, session: str | None) -> str:
    if method in {"session/load", "session/resume", "session/fork"}:
        return f"the conversation {session!r} cannot be resumed"
    return f"`{method}` failed"


def describe_sign_in(name: str, methods: object) -> str:
    """Returns advice for a missing or invalid key, from the methods that the server offers."""
    options = [_describe_method(method) for method in list_objects(methods)][:_MOST_METHODS]
    if not any(options):
        return f"sign in to {name} outside of Weft, or set its key"
    return one_line(f"sign in to {name} outside of Weft: {'; or '.join(filter(None, options))}")


def _describe_method(method: object) -> str:
    name, about = as_text(value_at(method, "name")), as_text(value_at(method, "description"))
    keys = ", ".join(as_text(variable.get("name")) for variable in list_objects(value_at(method, "vars")))
    return ": ".join(filter(None, (name, about, f"set {keys}" if keys else "")))
