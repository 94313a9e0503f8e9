"""A conversation with a model, independent of the provider, and its form in a file."""

from typing import Any, NamedTuple, cast


class UserMessage(NamedTuple):
    """A prompt."""

    text: str


class ToolCall(NamedTuple):
    """A call of a tool by the model."""

    id: str
    name: str
    arguments: dict[str, Any]
    wrong: str = ""
    """Why the call is malformed; empty if it is not."""


class ModelMessage(NamedTuple):
    """A message of the model: text and tool calls."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    api: str = ""
    raw: tuple[Any, ...] = ()
    """The original parts for a provider of the same `api`: some require fields back that only they understand."""


class ToolResults(NamedTuple):
    """The outputs of the calls in the previous message: pairs of call id and output, in order."""

    results: tuple[tuple[str, str], ...]


Message = UserMessage | ModelMessage | ToolResults
Conversation = tuple[Message, ...]

_KINDS: dict[str, type[Message]] = {"user": UserMessage, "said": ModelMessage, "results": ToolResults}
_NAMES = {kind: name for name, kind in _KINDS.items()}
OMITTED = "[left out: the conversation has become long]"


class TokenCounts(NamedTuple):
    """Tokens by kind. The kinds do not overlap."""

    input: int = 0
    output: int = 0
    cached_input: int = 0

    def __add__(self, other: object) -> "TokenCounts":
        if not isinstance(other, TokenCounts):
            return NotImplemented
        return TokenCounts(*map(sum, zip(self, other, strict=True)))


class ModelAnswer(NamedTuple):
    """The answer of a provider."""

    said: ModelMessage
    used: TokenCounts = TokenCounts()
    cost: float | None = None
    """In dollars; None if the provider does not report it."""
    is_cut: bool = False
    """Whether the answer reached the limit on its length."""
    refused: str = ""
    """Why the model refused; empty if it did not."""


# --- in a file ---


def encode_conversation(conversation: Conversation) -> list[Any]:
    return [[_NAMES[type(message)], *message] for message in conversation]


def decode_conversation(value: object) -> Conversation:
    """Reads a conversation from JSON; raises `ValueError` if the value is not one."""
    try:
        return tuple(_decode_message(*entry) for entry in cast("list[Any]", value))
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError("it is no conversation") from error


def _decode_message(kind: str, *values: Any) -> Message:  # noqa: ANN401
    match _KINDS[kind](*values):
        case ModelMessage(model_text, calls, api, raw):
            return ModelMessage(model_text, tuple(ToolCall(*call) for call in calls), api, tuple(raw))
        case ToolResults(results):
            return ToolResults(tuple((name, model_text) for name, model_text in results))
        case user:
            return user


# --- limits on length ---


def shorten(text: str, most_characters: int) -> str:
    """Replaces the middle of a text that is too long by a note."""
    if len(text) <= most_characters:
        return text
    half = most_characters // 2
    gap = f"\n[… {len(text) - 2 * half:,} characters left out …]\n"
    return text[:half] + gap + text[len(text) - half :]


def trim_results(conversation: Conversation, most_characters: int) -> Conversation:
    """Replaces the oldest tool outputs by a note until the rest fits. The latest outputs always stay."""
    remaining = most_characters
    messages: list[Message] = []
    # From the newest to the oldest, since the room goes to the newest results.
    for message in reversed(conversation):
        if isinstance(message, ToolResults):
            size = sum(len(text) for _, text in message.results)
            # The latest results stay in any case: the model has not seen them yet.
            if size > remaining and messages:
                message = ToolResults(tuple((name, OMITTED) for name, _ in message.results))  # noqa: PLW2901
            remaining -= size
        messages.append(message)
    return tuple(reversed(messages))
