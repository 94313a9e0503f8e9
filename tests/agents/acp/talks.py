"""Conversations of the client in which the tests act as the server."""

from collections.abc import Mapping
from typing import Any

from weft.agents.acp.client import Client, Log, Out, Send, Show, TurnBrief
from weft.ports.activity import Activity, CallResult

CAN = {"loadSession": True, "sessionCapabilities": {"fork": {}, "resume": {}}}
HELLO = {"protocolVersion": 1, "agentCapabilities": CAN, "agentInfo": {"name": "fake", "title": "Fake"}}
BEGUN = {"sessionId": "s1"}


def sent(outs: list[Out]) -> list[Mapping[str, Any]]:
    return [out.message for out in outs if isinstance(out, Send)]


def logged(outs: list[Out]) -> list[str]:
    """The lines for the log; activities as `verb object`, results as `→ outcome`."""
    return [line for out in outs if (line := _logged(out))]


def _logged(out: Out) -> str:
    match out:
        case Log(line):
            return line
        case Show(Activity() as activity):
            return f"{activity.verb} {activity.object}"
        case Show(CallResult() as result):
            return f"→ {result.outcome}"
        case _:
            return ""


class Played:
    """A client, and the request that it is waiting for an answer to."""

    def __init__(self, **brief: Any) -> None:
        self.client = Client(TurnBrief(**{"server": "`fake`", "prompt": "Do it", "cwd": "/work", **brief}))
        self.request: Mapping[str, Any] = {}
        self.logs: list[str] = []
        self._take(self.client.start())

    def _take(self, outs: list[Out]) -> list[Mapping[str, Any]]:
        messages = sent(outs)
        self.logs += logged(outs)
        self.request = next(
            (message for message in messages if "method" in message and "id" in message), self.request
        )
        return messages

    @property
    def asked(self) -> tuple[str, Mapping[str, Any]]:
        return self.request["method"], self.request["params"]

    def answer(self, result: object) -> "Played":
        self._take(self.client.receive({"jsonrpc": "2.0", "id": self.request["id"], "result": result}))
        return self

    def refuse(self, **error: object) -> "Played":
        self._take(self.client.receive({"jsonrpc": "2.0", "id": self.request["id"], "error": error}))
        return self

    def update(self, what: str, /, **more: object) -> "Played":
        params = {"sessionId": "s1", "update": {"sessionUpdate": what, **more}}
        assert self._take(self.client.receive({"method": "session/update", "params": params})) == []
        return self

    def say(self, text: str, **more: object) -> "Played":
        return self.update("agent_message_chunk", content={"type": "text", "text": text}, **more)

    def ask(self, method: str, params: object) -> Mapping[str, Any]:
        """What the server asks meanwhile; what it is answered."""
        (message,) = self._take(self.client.receive({"id": "q", "method": method, "params": params}))
        return message

    def permission(self, **tool: object) -> object:
        """Which option is chosen, or None."""
        kinds = ("allow_always", "allow_once", "reject_always", "reject_once")
        options = [{"optionId": kind.upper(), "name": "x", "kind": kind} for kind in kinds]
        params = {"sessionId": "s1", "toolCall": {"toolCallId": "t1", **tool}, "options": options}
        outcome = self.ask("session/request_permission", params)["result"]["outcome"]
        return outcome.get("optionId")


def prompted(begun: object = BEGUN, **brief: Any) -> Played:
    """In the middle of a turn."""
    return Played(**brief).answer(HELLO).answer(begun)
