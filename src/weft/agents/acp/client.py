"""The client's half of a conversation with a server, as a state machine: messages in, messages out. Pure.

    initialize → session/new | load | fork → choices of mode and model → session/prompt → end of the turn

One request is pending at a time, and its method is the state. Meanwhile the server reports progress
(`session/update`) and asks for permission. An invalid message leads to an end with a reason, never to an
exception.

The client offers no services for files or terminals; all servers have their own.
"""

from typing import Any, NamedTuple

from weft.agents.acp.choices import SessionChoice, choose_cautious_mode, list_offers
from weft.agents.acp.last_message import LastMessage
from weft.agents.acp.messages import Message, method_not_found, notification, request, response
from weft.agents.acp.outcomes import (
    End,
    TurnCancellation,
    TurnFailure,
    describe_sign_in,
    interpret_error,
    interpret_turn_end,
)
from weft.agents.acp.permissions import CANCELLED, choose_option, is_allowed
from weft.agents.acp.tool_calls import describe_call, describe_result
from weft.agents.acp.usage import Spending, split_cost_mark
from weft.agents.shared.streams import as_text, value_at
from weft.agents.shared.text import one_line
from weft.ports.activity import Activity, CallResult, Verb

VERSION = 1
_MOST_KINDS = 10_000
_SHOWN = 10
_CAPABILITIES = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}


class TurnBrief(NamedTuple):
    """The task of one conversation."""

    server: str
    """The name for messages until the server introduces itself."""
    prompt: str
    cwd: str
    session: str | None = None
    fork: bool = False
    read_only: bool = False
    model: str | None = None


class Send(NamedTuple):
    """A message to the server."""

    message: Message


class Log(NamedTuple):
    """A line for the log of the step."""

    line: str


class Show(NamedTuple):
    """An activity for the log of the step."""

    activity: Activity | CallResult


Out = Send | Log | Show


class Client:
    """The state of the conversation. `end` is set when it is over."""

    def __init__(self, brief: TurnBrief) -> None:
        self.end: End | None = None
        self.name = brief.server
        self.sign_in = describe_sign_in(brief.server, None)
        self.session: str | None = None
        self.spending = Spending(brief.session)
        self.has_prompted = False
        self.waits_for = ""
        """The method of the pending request."""
        self._brief = brief
        self._number = 0
        self._introduction: object = None
        self._choices: list[SessionChoice] = []
        self._last_message = LastMessage()
        self._kinds: dict[str, object] = {}
        self._used_tools = False
        self._is_stopping = False

    # --- inputs ---

    def start(self) -> list[Out]:
        about = {"name": "weft", "title": "Weft", "version": "1"}
        params = {"protocolVersion": VERSION, "clientCapabilities": _CAPABILITIES, "clientInfo": about}
        return self._send_request("initialize", params)

    def receive(self, message: Message) -> list[Out]:
        if self.end is not None:
            return []
        method, params = message.get("method"), message.get("params")
        if isinstance(method, str) and "id" in message:
            return self._handle_request(message["id"], method, params)
        if isinstance(method, str):
            return self._handle_notification(method, params)
        # Responses to any other id are ignored: only one request is pending at a time.
        if message.get("id") == self._number:
            return self._handle_response(message)
        return []

    def stop(self) -> list[Out]:
        """Cancels the turn. The server confirms by responding to the prompt."""
        self._is_stopping = True
        # Before the prompt there is no turn to cancel and nothing has been spent, so the end needs no answer.
        if self.waits_for != "session/prompt":
            self.end = TurnCancellation()
            return []
        return [Send(notification("session/cancel", {"sessionId": self.session}))]

    # --- the sequence of requests ---

    def _send_request(self, method: str, params: Message) -> list[Out]:
        self._number += 1
        self.waits_for = method
        return [Send(request(self._number, method, params))]

    def _handle_response(self, message: Message) -> list[Out]:
        result = message.get("result")
        if "error" in message:
            return self._handle_error(message["error"])
        match self.waits_for:
            case "initialize":
                return self._handle_initialized(result)
            case "session/new" | "session/load" | "session/resume" | "session/fork":
                return self._handle_session(result)
            case "session/prompt":
                return self._handle_turn_end(result)
            case _:
                return self._finish_choice()

    def _handle_error(self, error: object) -> list[Out]:
        if self._is_stopping:
            return self._finish(TurnCancellation())
        if self._choices and self._choices[0].is_optional:
            return [Log(f"{self.name} does not take a mode: {as_text(error)}"), *self._finish_choice()]
        return self._finish(interpret_error(self.waits_for, error, self._brief.session))

    def _finish(self, end: End) -> list[Out]:
        self.end = end
        return []

    def _handle_initialized(self, result: object) -> list[Out]:
        self._introduction = result
        about = value_at(result, "agentInfo")
        self.name = one_line(as_text(value_at(about, "title") or value_at(about, "name"))) or self.name
        self.sign_in = describe_sign_in(self.name, value_at(result, "authMethods"))
        version = value_at(result, "protocolVersion")
        # A server may answer with a version of its own. By the protocol the client then has to end the
        # conversation.
        if type(version) is not int or version != VERSION:
            return self._finish(
                TurnFailure(_OTHER_VERSION.format(name=self.name, version=one_line(as_text(version))))
            )
        return self._open_session()

    def _open_session(self) -> list[Out]:
        where: dict[str, Any] = {"cwd": self._brief.cwd, "mcpServers": []}
        if self._brief.session is None:
            return self._send_request("session/new", where)
        can = value_at(self._introduction, "agentCapabilities")
        where["sessionId"] = split_cost_mark(self._brief.session)[0]
        if self._brief.fork:
            if value_at(can, "sessionCapabilities", "fork") is None:
                return self._finish(TurnFailure(_NO_FORK.format(name=self.name)))
            return self._send_request("session/fork", where)
        # `load` replays the whole history and `resume` does not, but more servers support `load`.
        if value_at(can, "loadSession") is True:
            return self._send_request("session/load", where)
        if value_at(can, "sessionCapabilities", "resume") is not None:
            return self._send_request("session/resume", where)
        return self._finish(TurnFailure(_NO_LOAD.format(name=self.name)))

    def _handle_session(self, result: object) -> list[Out]:
        session = value_at(result, "sessionId")
        # These responses contain no id; the requested session keeps its own.
        if self.waits_for in {"session/load", "session/resume"}:
            session = split_cost_mark(self._brief.session or "")[0]
        if not isinstance(session, str) or not session:
            return self._finish(TurnFailure(f"{self.name} started a conversation without a session id"))
        self.session = session
        mode = choose_cautious_mode(result) if self._brief.read_only else None
        if mode is not None:
            self._choices.append(mode)
        # Continuing with another model than the plan names could cost many times as much.
        if self._brief.model is not None and not self._choose_model(self._brief.model, result):
            return []
        return self._send_next()

    def _choose_model(self, model: str, result: object) -> bool:
        """Adds the choice of the model and returns True; ends the conversation if the server does not offer it."""
        offers = list_offers(result, "model")
        for offer in offers:
            if model in offer.values:
                choice = offer.choose(model)
                self._choices += [] if choice is None else [choice]
                return True
        models = list(dict.fromkeys(value for offer in offers for value in offer.values))
        listed = ", ".join(models[:_SHOWN]) + (", …" if len(models) > _SHOWN else "")
        reason = (
            f"offers no model {model!r}, but {one_line(listed)}" if models else "has no way to choose a model"
        )
        self.end = TurnFailure(f"{self.name} {reason}; {_MODEL}")
        return False

    def _finish_choice(self) -> list[Out]:
        del self._choices[0]
        return self._send_next()

    def _send_next(self) -> list[Out]:
        if self._choices:
            choice = self._choices[0]
            return self._send_request(choice.method, {"sessionId": self.session, **choice.params})
        self.has_prompted = True
        prompt = [{"type": "text", "text": self._brief.prompt}]
        return self._send_request("session/prompt", {"sessionId": self.session, "prompt": prompt})

    def _handle_turn_end(self, result: object) -> list[Out]:
        self.spending.end(result, used_tools=self._used_tools)
        if self._is_stopping:
            return self._finish(TurnCancellation())
        text = self._last_message.text
        # Some servers end a turn without any error when the model's answer was empty; that must not count as
        # success.
        did_nothing = not text.strip() and not self._used_tools
        return self._finish(
            interpret_turn_end(self.name, self._introduction, result, text, did_nothing=did_nothing)
        )

    # --- requests and notifications of the server ---

    def _handle_request(self, number: object, method: str, params: object) -> list[Out]:
        if method != "session/request_permission":
            # An answer is needed even so: a server that waits for one would hang until the time limit of the step.
            return [Send(method_not_found(number, method))]
        self._used_tools = True
        tool = value_at(params, "toolCall")
        if self._is_stopping:
            return [Send(response(number, CANCELLED))]
        # A request for permission may omit the kind that the tool call has announced before.
        kind = value_at(tool, "kind") or self._kinds.get(as_text(value_at(tool, "toolCallId")))
        allowed = is_allowed(kind, read_only=self._brief.read_only)
        outs: list[Out] = [*self._end_message(), Show(describe_call(kind, tool))]
        outs += [] if allowed else [Log(f"not allowed: {one_line(as_text(value_at(tool, 'title')))}")]
        return [*outs, Send(response(number, choose_option(params, allowed=allowed)))]

    def _handle_notification(self, method: str, params: object) -> list[Out]:
        # Updates before the prompt replay the history of a resumed conversation.
        if (
            method != "session/update"
            or not self.has_prompted
            or value_at(params, "sessionId") != self.session
        ):
            return []
        update = value_at(params, "update")
        match value_at(update, "sessionUpdate"):
            case "agent_message_chunk":
                self._last_message.add(value_at(update, "content", "text"), value_at(update, "messageId"))
            case "tool_call" | "tool_call_update" as kind:
                return self._handle_tool(update, is_new=kind == "tool_call")
            case "usage_update":
                self.spending.update(update)
            case _:
                pass
        return []

    def _handle_tool(self, call: object, *, is_new: bool) -> list[Out]:
        outs = self._end_message()
        self._used_tools = True
        name, kind = as_text(value_at(call, "toolCallId")), value_at(call, "kind")
        # Bounded, because a server may invent any number of ids.
        if isinstance(kind, str) and (name in self._kinds or len(self._kinds) < _MOST_KINDS):
            self._kinds[name] = kind
        result = describe_result(call)
        # An update may complete what the call announced: a server may first know only the name of the tool.
        if is_new or (result is None and value_at(call, "title")):
            outs.append(Show(describe_call(kind or self._kinds.get(name), call)))
        return outs if result is None else [*outs, Show(result)]

    def _end_message(self) -> list[Out]:
        """Shows the message that a tool call ends. The last message is the result of the step instead."""
        text = self._last_message.pause()
        return [Show(Activity(verb=Verb.SAYS, object=text))] if text.strip() else []


_OTHER_VERSION = (
    "{name} speaks version {version} of the Agent Client Protocol, and Weft speaks 1: name a release of it in "
    "`command` that does"
)
_NO_LOAD = "{name} cannot resume a conversation (no `loadSession`): take `resume` out of the step"
_NO_FORK = (
    "{name} cannot fork a conversation (no `session/fork`), which a step with `async` needs: take `resume` or "
    "`async` out of the step"
)
_MODEL = (
    "take `model` out of the agent and the step, and name it in `command` or `env` as that program wants it"
)
