"""A conversation with a model, whoever provides it; as it is kept in a file, too."""

from typing import Any, NamedTuple, cast


class User(NamedTuple):
    text: str


class Call(NamedTuple):
    id: str
    name: str
    arguments: dict[str, Any]
    wrong: str = ""
    """Why it cannot be done: what the model wrote is no such thing."""


class Said(NamedTuple):
    """By the model."""

    text: str
    calls: tuple[Call, ...] = ()
    api: str = ""
    raw: tuple[Any, ...] = ()
    """The same as it came, for the provider of this `api`: some want back what only they understand."""


class Results(NamedTuple):
    """Of the calls before, in their order: ids, and what came out."""

    results: tuple[tuple[str, str], ...]


Message = User | Said | Results
Talk = tuple[Message, ...]

_KINDS: dict[str, type[Message]] = {"user": User, "said": Said, "results": Results}
_NAMES = {kind: name for name, kind in _KINDS.items()}
LEFT_OUT = "[left out: the conversation has become long]"


class Used(NamedTuple):
    """Tokens by kind; none is counted twice."""

    input: int = 0
    output: int = 0
    cached_input: int = 0

    def __add__(self, other: object) -> "Used":
        if not isinstance(other, Used):
            return NotImplemented
        return Used(*map(sum, zip(self, other, strict=True)))


class Answer(NamedTuple):
    """What a provider sent."""

    said: Said
    used: Used = Used()
    cost: float | None = None
    """In dollars; None is what it does not tell."""
    is_cut: bool = False
    """It met the limit on its length."""
    refused: str = ""


# --- in a file ---


def packed(talk: Talk) -> list[Any]:
    return [[_NAMES[type(message)], *message] for message in talk]


def unpacked(value: object) -> Talk:
    """Raises `ValueError` if it is no conversation."""
    try:
        return tuple(_message(*one) for one in cast("list[Any]", value))
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError("it is no conversation") from error


def _message(kind: str, *values: Any) -> Message:  # noqa: ANN401
    match _KINDS[kind](*values):
        case Said(text, calls, api, raw):
            return Said(text, tuple(Call(*call) for call in calls), api, tuple(raw))
        case Results(results):
            return Results(tuple((name, text) for name, text in results))
        case user:
            return user


# --- kept short ---


def shortened(text: str, most: int) -> str:
    """With its beginning and its end, if it is longer than that."""
    if len(text) <= most:
        return text
    half = most // 2
    gap = f"\n[… {len(text) - 2 * half:,} characters left out …]\n"
    return text[:half] + gap + text[len(text) - half :]


def trimmed(talk: Talk, most: int) -> Talk:
    """Without the oldest results of tools, if all of them are more than so many characters; the last stay."""
    rest = most
    kept: list[Message] = []
    for message in reversed(talk):
        if isinstance(message, Results):
            size = sum(len(text) for _, text in message.results)
            if size > rest and kept:
                message = Results(tuple((name, LEFT_OUT) for name, _ in message.results))  # noqa: PLW2901
            rest -= size
        kept.append(message)
    return tuple(reversed(kept))
