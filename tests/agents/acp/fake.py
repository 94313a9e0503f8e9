"""A server of the Agent Client Protocol that plays a scenario: `python fake.py FILE`, in the directory to work in.

The file is a JSON object: for each method the actions that answer it, in order. What is not there is answered as
an honest server would. `start` is done before anything is read; `deaf` is a server that does not end by itself.
Whatever it hears goes to `heard.jsonl`.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, NoReturn

HELLO = {
    "protocolVersion": 1,
    "agentCapabilities": {"loadSession": True},
    "agentInfo": {"name": "fake", "title": "Fake"},
}
USUAL: dict[str, list[dict[str, Any]]] = {
    "initialize": [{"result": HELLO}],
    "session/new": [{"result": {"sessionId": "s1"}}],
    "session/load": [{"result": None}],
    "session/prompt": [{"say": "Done."}, {"result": {"stopReason": "end_turn"}}],
}


def send(message: dict[str, Any]) -> None:
    write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")


def write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def update(what: dict[str, Any]) -> None:
    send({"method": "session/update", "params": {"sessionId": "s1", "update": what}})


def do(action: dict[str, Any], number: object) -> None:
    ((name, value),) = action.items()
    if name in {"result", "error"}:
        send({"id": number, name: value})
    else:
        ACTIONS[name](value)


def say(text: str) -> None:
    update({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})


def ask(question: dict[str, Any]) -> None:
    send({"id": "q", **question})


def write_much(much: dict[str, Any]) -> None:
    for _ in range(much["times"]):
        write(much["text"])


def complain(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def note(file: str, text: object) -> None:
    with open(file, "a") as stream:  # noqa: PTH123 - with as little to load as can be
        stream.write(str(text))


def call(fifo: str) -> None:
    """Writes the process id to a FIFO, which blocks until a reader opens it."""
    note(fifo, os.getpid())


def leave_child(file: str) -> None:
    child = os.fork()
    if not child:
        wait()
    note(file, child)


def wait() -> NoReturn:
    while True:
        signal.pause()


ACTIONS: dict[str, Callable[[Any], None]] = {
    "say": say,
    "update": update,
    "ask": ask,
    "write": write,
    "write_much": write_much,
    "complain": complain,
    "call": call,
    "child": leave_child,
    "exit": os._exit,
    "kill": lambda number: os.kill(os.getpid(), number),
    "close": os.close,
}


def main() -> None:
    with open(sys.argv[1]) as stream:  # noqa: PTH123
        scenario = json.load(stream)
    if scenario.get("deaf"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for action in scenario.get("start", []):
        do(action, None)
    for line in sys.stdin:
        note("heard.jsonl", line)
        message = json.loads(line)
        method = message.get("method", "answer")
        for action in scenario.get(method, USUAL.get(method, [])):
            do(action, message.get("id"))
    if scenario.get("deaf"):
        wait()


if __name__ == "__main__":
    main()
