"""Decide the next move in a conversation. Pure: the decision follows from the messages alone.

The model is asked, calls tools and receives their output, until it calls `done` or answers without a call. A
stored conversation can therefore be resumed wherever no output is missing: after a prompt, after tool results,
or at its end with another prompt.
"""

from typing import NamedTuple

from weft.agents.builtin.conversation import (
    Conversation,
    ModelAnswer,
    ModelMessage,
    ToolCall,
    ToolResults,
    UserMessage,
)

DONE = "done"
SKIPPED = "Not run: `done` was called before it."
_CUT = "Your answer was cut off, as it was too long. Go on, in smaller steps."


class AskModel(NamedTuple):
    """Send the conversation to the model."""


class UseTools(NamedTuple):
    """Run these tool calls."""

    calls: tuple[ToolCall, ...]


class End(NamedTuple):
    """The work is over, with the final text or a failure."""

    text: str = ""
    failed: str = ""
    """The reason for a failure; empty on success."""


def decide_next(
    conversation: Conversation, *, requests: int, most_requests: int
) -> AskModel | UseTools | End:
    """Returns the next move, given the number of requests to the model so far and the limit on them."""
    match conversation[-1]:
        case ModelMessage(text, ()):
            return End(text) if text.strip() else End(failed="the model said nothing and called nothing")
        case ModelMessage(_, calls):
            return UseTools(calls)
        case ToolResults():
            done_call = _find_done_call(conversation)
            if done_call is not None:
                return End(str(done_call.arguments.get("text", "")))
        case UserMessage():
            pass
    if requests >= most_requests:
        turns = "1 turn" if most_requests == 1 else f"{most_requests} turns"
        return End(failed=f"stopped after {turns}, before the model had finished; `--max-turns` allows more")
    return AskModel()


def _find_done_call(conversation: Conversation) -> ToolCall | None:
    before = conversation[-2] if len(conversation) > 1 else None
    return _first_done(before.calls) if isinstance(before, ModelMessage) else None


def _first_done(calls: tuple[ToolCall, ...]) -> ToolCall | None:
    return next((call for call in calls if is_done(call)), None)


def is_done(call: ToolCall) -> bool:
    return call.name == DONE and not call.wrong


def add_answer(conversation: Conversation, answer: ModelAnswer) -> Conversation:
    """Returns the conversation with the answer of the model. A call that was cut off is marked as malformed."""
    message = answer.said
    # An answer that was cut off is completed, so that the conversation stays valid for the provider.
    if not answer.is_cut:
        return (*conversation, message)
    if not message.calls:
        return (*conversation, ModelMessage(message.text or "…"), UserMessage(_CUT))
    # The limit cut the last call off, so its arguments cannot be trusted.
    *whole, last = message.calls
    return (*conversation, ModelMessage(message.text, (*whole, ToolCall(last.id, last.name, {}, _CUT))))


def add_results(conversation: Conversation, results: tuple[tuple[str, str], ...]) -> Conversation:
    """Returns the conversation with the outputs of the tools."""
    return (*conversation, ToolResults(results))
