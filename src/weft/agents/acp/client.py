"""The client's half of a conversation with a server, as a state machine: messages in, messages out. Pure.

    initialize → session/new | load | fork → what is to be chosen → session/prompt → the end of the turn

One request is under way at a time, and what it is says where we are. Meanwhile the server tells what it does
(`session/update`) and asks for permission. What it says wrong is an end with a reason, and never an exception.

We offer a server nothing to do for it: neither files nor terminals, which all of them have of their own.
"""

from typing import Any, NamedTuple

from weft.agents.acp.choices import Choice, cautious, offers
from weft.agents.acp.ends import End, Failed, Stopped, sign_in, trouble_of, turn_ended
from weft.agents.acp.messages import Message, answer, not_found, notification, request
from weft.agents.acp.permissions import CANCELLED, chosen, is_allowed
from weft.agents.acp.said import Said
from weft.agents.acp.spent import Spent, unmarked
from weft.agents.streams import inside, words
from weft.agents.words import one_line

VERSION = 1
_MOST_KINDS = 10_000
_SHOWN = 10
_CAPABILITIES = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}


class Brief(NamedTuple):
    """What is wanted."""

    server: str
    """Its name for people, as long as it did not say one."""
    prompt: str
    cwd: str
    session: str | None = None
    fork: bool = False
    read_only: bool = False
    model: str | None = None


class Send(NamedTuple):
    message: Message


class Log(NamedTuple):
    line: str


Out = Send | Log


class Client:
    def __init__(self, brief: Brief) -> None:
        self.end: End | None = None
        self.name = brief.server
        self.sign_in = sign_in(brief.server, None)
        self.session: str | None = None
        self.spent = Spent(brief.session)
        self.has_prompted = False
        self.waits_for = ""
        """The method of the request that is under way."""
        self._brief = brief
        self._number = 0
        self._introduction: object = None
        self._choices: list[Choice] = []
        self._said = Said()
        self._kinds: dict[str, object] = {}
        self._used_tools = False
        self._is_stopping = False

    # --- its doors ---

    def start(self) -> list[Out]:
        about = {"name": "weft", "title": "Weft", "version": "1"}
        params = {"protocolVersion": VERSION, "clientCapabilities": _CAPABILITIES, "clientInfo": about}
        return self._ask("initialize", params)

    def hear(self, message: Message) -> list[Out]:
        if self.end is not None:
            return []
        method, params = message.get("method"), message.get("params")
        if isinstance(method, str) and "id" in message:
            return self._asked(message["id"], method, params)
        if isinstance(method, str):
            return self._told(method, params)
        if message.get("id") == self._number:
            return self._answered(message)
        return []

    def stop(self) -> list[Out]:
        """Ask for an end to the turn; the answer to the prompt is that end."""
        self._is_stopping = True
        if self.waits_for != "session/prompt":
            self.end = Stopped()
            return []
        return [Send(notification("session/cancel", {"sessionId": self.session}))]

    # --- one request after the other ---

    def _ask(self, method: str, params: Message) -> list[Out]:
        self._number += 1
        self.waits_for = method
        return [Send(request(self._number, method, params))]

    def _answered(self, message: Message) -> list[Out]:
        result = message.get("result")
        if "error" in message:
            return self._refused(message["error"])
        match self.waits_for:
            case "initialize":
                return self._introduced(result)
            case "session/new" | "session/load" | "session/resume" | "session/fork":
                return self._begun(result)
            case "session/prompt":
                return self._ended(result)
            case _:
                return self._chosen()

    def _refused(self, error: object) -> list[Out]:
        if self._is_stopping:
            return self._over(Stopped())
        if self._choices and self._choices[0].is_optional:
            return [Log(f"{self.name} does not take a mode: {words(error)}"), *self._chosen()]
        return self._over(trouble_of(self.waits_for, error, self._brief.session))

    def _over(self, end: End) -> list[Out]:
        self.end = end
        return []

    def _introduced(self, result: object) -> list[Out]:
        self._introduction = result
        about = inside(result, "agentInfo")
        self.name = one_line(words(inside(about, "title") or inside(about, "name"))) or self.name
        self.sign_in = sign_in(self.name, inside(result, "authMethods"))
        version = inside(result, "protocolVersion")
        if type(version) is not int or version != VERSION:
            return self._over(Failed(_OTHER_VERSION.format(name=self.name, version=one_line(words(version)))))
        return self._begin()

    def _begin(self) -> list[Out]:
        where: dict[str, Any] = {"cwd": self._brief.cwd, "mcpServers": []}
        if self._brief.session is None:
            return self._ask("session/new", where)
        can = inside(self._introduction, "agentCapabilities")
        where["sessionId"] = unmarked(self._brief.session)[0]
        if self._brief.fork:
            if inside(can, "sessionCapabilities", "fork") is None:
                return self._over(Failed(_NO_FORK.format(name=self.name)))
            return self._ask("session/fork", where)
        if inside(can, "loadSession") is True:
            return self._ask("session/load", where)
        if inside(can, "sessionCapabilities", "resume") is not None:
            return self._ask("session/resume", where)
        return self._over(Failed(_NO_LOAD.format(name=self.name)))

    def _begun(self, result: object) -> list[Out]:
        session = inside(result, "sessionId")
        if self.waits_for in {"session/load", "session/resume"}:
            session = unmarked(self._brief.session or "")[0]
        if not isinstance(session, str) or not session:
            return self._over(Failed(f"{self.name} began a conversation that it gave no name to"))
        self.session = session
        mode = cautious(result) if self._brief.read_only else None
        if mode is not None:
            self._choices.append(mode)
        if self._brief.model is not None and not self._choose(self._brief.model, result):
            return []
        return self._next()

    def _choose(self, model: str, result: object) -> bool:
        """Whether there is such a model."""
        found = offers(result, "model")
        for offer in found:
            if model in offer.values:
                choice = offer.of(model)
                self._choices += [] if choice is None else [choice]
                return True
        there = list(dict.fromkeys(value for offer in found for value in offer.values))
        listed = ", ".join(there[:_SHOWN]) + (", …" if len(there) > _SHOWN else "")
        why = (
            f"offers no model {model!r}, but {one_line(listed)}" if there else "has no way to choose a model"
        )
        self.end = Failed(f"{self.name} {why}; {_MODEL}")
        return False

    def _chosen(self) -> list[Out]:
        del self._choices[0]
        return self._next()

    def _next(self) -> list[Out]:
        if self._choices:
            choice = self._choices[0]
            return self._ask(choice.method, {"sessionId": self.session, **choice.params})
        self.has_prompted = True
        prompt = [{"type": "text", "text": self._brief.prompt}]
        return self._ask("session/prompt", {"sessionId": self.session, "prompt": prompt})

    def _ended(self, result: object) -> list[Out]:
        self.spent.end(result, used_tools=self._used_tools)
        if self._is_stopping:
            return self._over(Stopped())
        text = self._said.text
        did_nothing = not text.strip() and not self._used_tools
        return self._over(turn_ended(self.name, self._introduction, result, text, did_nothing=did_nothing))

    # --- what it asks and tells meanwhile ---

    def _asked(self, number: object, method: str, params: object) -> list[Out]:
        if method != "session/request_permission":
            return [Send(not_found(number, method))]
        self._said.pause()
        self._used_tools = True
        tool = inside(params, "toolCall")
        if self._is_stopping:
            return [Send(answer(number, CANCELLED))]
        kind = inside(tool, "kind") or self._kinds.get(words(inside(tool, "toolCallId")))
        allowed = is_allowed(kind, read_only=self._brief.read_only)
        log = Log(f"{'allowed' if allowed else 'not allowed'}: {_shown(kind, tool)}")
        return [log, Send(answer(number, chosen(params, allowed=allowed)))]

    def _told(self, method: str, params: object) -> list[Out]:
        """Before the prompt, it is what was said in a conversation that goes on."""
        if method != "session/update" or not self.has_prompted or inside(params, "sessionId") != self.session:
            return []
        update = inside(params, "update")
        match inside(update, "sessionUpdate"):
            case "agent_message_chunk":
                self._said.add(inside(update, "content", "text"), inside(update, "messageId"))
            case "tool_call" | "tool_call_update" as what:
                return self._tool(update, begins=what == "tool_call")
            case "usage_update":
                self.spent.update(update)
            case _:
                pass
        return []

    def _tool(self, call: object, *, begins: bool) -> list[Out]:
        self._said.pause()
        self._used_tools = True
        name, kind = words(inside(call, "toolCallId")), inside(call, "kind")
        if isinstance(kind, str) and (name in self._kinds or len(self._kinds) < _MOST_KINDS):
            self._kinds[name] = kind
        return [Log(_shown(kind, call))] if begins else []


def _shown(kind: object, call: object) -> str:
    """A call of a tool, for people."""
    return one_line(": ".join(filter(None, (words(kind), words(inside(call, "title"))))))


_OTHER_VERSION = (
    "{name} speaks version {version} of the Agent Client Protocol, and Weft speaks 1: name a release of it in "
    "`command` that does"
)
_NO_LOAD = "{name} cannot go on with a conversation (no `loadSession`): take `resume` out of the step"
_NO_FORK = (
    "{name} cannot fork a conversation (no `session/fork`), which a step with `async` needs: take `resume` or "
    "`async` out of the step"
)
_MODEL = (
    "take `model` out of the agent and the step, and name it in `command` or `env` as that program wants it"
)
