"""How it can end, of what the server says. Pure.

What a server gives as its error is sorted by `failures`, as with all programs; what we say of it ourselves is not.
"""

import re
from typing import NamedTuple

from weft.agents.streams import inside, objects, words
from weft.agents.words import one_line

AUTH_REQUIRED = -32000
_UNAUTHORIZED = 401
_MOST_WAYS = 4
_STATUS = re.compile(r"\berror:?\s+([45]\d\d)\b", re.IGNORECASE)
_REASONS = {
    "refusal": "the model refused to go on",
    "max_tokens": "it met the limit on how many tokens it may write or read",
    "max_turn_requests": "it met its own limit on how often it asks the model in a turn",
    "cancelled": "it says that its turn was cancelled, which nobody here asked for",
}
_GOOSE = "goose-provider"
_ITS_ERROR = "Ran into this error:"
_ITS_REQUEST = "\n\nPlease retry"
_ITS_LIMIT = "I've reached the maximum number of actions"


class Done(NamedTuple):
    text: str


class Failed(NamedTuple):
    """For a reason that is clear."""

    why: str


class Trouble(NamedTuple):
    """Words of the server, or of a process that died."""

    text: str
    status: int | None = None
    """Of HTTP."""
    more: str = ""
    """What we have to add."""


class CouldNot(NamedTuple):
    """There was nobody to do the work."""

    why: str


class Stopped(NamedTuple):
    """As we were told to."""


End = Done | Failed | Trouble | CouldNot | Stopped


def turn_ended(name: str, introduction: object, result: object, text: str, *, did_nothing: bool) -> End:
    reason = inside(result, "stopReason")
    if reason == "end_turn":
        return _goose(introduction, text) or (
            Failed(_NOTHING.format(name=name)) if did_nothing else Done(text)
        )
    known = _REASONS.get(words(reason))
    said = f" ({one_line(text)})" if text.strip() and reason == "refusal" else ""
    return Failed(
        f"{known}{said}" if known else f"it ended its turn for the reason {one_line(words(reason))!r}"
    )


_NOTHING = "{name} ended its turn without a word, and without having done anything"


def _goose(introduction: object, text: str) -> End | None:
    """It tells its own errors as if the model had said them, and ends as if all were well."""
    name = words(inside(introduction, "agentInfo", "name")).lower()
    ways = [one.get("id") for one in objects(inside(introduction, "authMethods"))]
    if "goose" not in name and _GOOSE not in ways:
        return None
    if text.startswith(_ITS_ERROR):
        return Trouble(text.removeprefix(_ITS_ERROR).partition(_ITS_REQUEST)[0].strip())
    return Failed(one_line(text)) if text.startswith(_ITS_LIMIT) else None


def trouble_of(method: str, error: object, session: str | None) -> Trouble:
    """Of an error that a request was answered with."""
    code, text = inside(error, "code"), _text(error)
    if method != "session/prompt":
        text = f"{_cannot(method, session)}: {text}"
    if isinstance(code, int) and 400 <= code < 600:  # noqa: PLR2004 - codes of HTTP
        return Trouble(text, status=code)
    if code == AUTH_REQUIRED and "auth" in text.lower():
        return Trouble(text, status=_UNAUTHORIZED)
    found = _STATUS.search(text)
    return Trouble(text, status=None if found is None else int(found[1]))


def _text(error: object) -> str:
    data = inside(error, "data")
    details = [inside(data, key) for key in ("message", "details", "detail", "reason", "error")]
    parts = [inside(error, "message"), data if isinstance(data, str) else None, *details]
    known = dict.fromkeys(one.strip() for one in parts if isinstance(one, str) and one.strip())
    return ": ".join(known) or words(error) or "it did not say why"


def _cannot(method: str, session: str | None) -> str:
    if method in {"session/load", "session/resume", "session/fork"}:
        return f"the conversation {session!r} cannot be gone on with"
    return f"`{method}` failed"


def sign_in(name: str, methods: object) -> str:
    """What to do if a key is missing or wrong, in the words of the server."""
    ways = [_way(one) for one in objects(methods)][:_MOST_WAYS]
    if not any(ways):
        return f"sign in to {name} outside of Weft, or set its key"
    return one_line(f"sign in to {name} outside of Weft: {'; or '.join(filter(None, ways))}")


def _way(method: object) -> str:
    name, about = words(inside(method, "name")), words(inside(method, "description"))
    keys = ", ".join(words(one.get("name")) for one in objects(inside(method, "vars")))
    return ": ".join(filter(None, (name, about, f"set {keys}" if keys else "")))
