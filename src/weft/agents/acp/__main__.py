"""The client's process: `python -m weft.agents.acp COMMAND…` starts that server; the prompt is on standard input.

What the agent said at last is on standard output. Exit code 1 is work that failed, 75 that there was none; the
report and standard error say why.
"""

import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from types import FrameType
from typing import BinaryIO, assert_never

from msgspec.structs import asdict

from weft.agents.acp.client import Brief, Client
from weft.agents.acp.ends import CouldNot, Done, End, Failed, Stopped, Trouble
from weft.agents.acp.server import INSTALL, Server, Talk, tell
from weft.agents.failures import Failure, Program, meaning
from weft.agents.reporting import COULD_NOT, FAILURE, Reporter
from weft.agents.words import one_line
from weft.engine.run.facts import How
from weft.plan.prices import Usage


def main(argv: Sequence[str], environ: Mapping[str, str], stdin: BinaryIO) -> int:
    stop = _stops()
    brief = Brief(
        server=_name(argv),
        prompt=stdin.read().decode(errors="replace"),
        cwd=os.getcwd(),  # noqa: PTH109
        session=environ.get("WEFT_SESSION") or None,
        fork=bool(environ.get("WEFT_FORK")),
        read_only=bool(environ.get("WEFT_READ_ONLY")),
        model=environ.get("WEFT_MODEL") or None,
    )
    work = _Work(Client(brief), Reporter(environ.get("WEFT_RESULT") or None))
    return work.settle(work.do(argv, environ, stop))


def _stops() -> int:
    """What becomes readable when somebody wants an end to it."""
    read, write = os.pipe()
    os.set_blocking(write, False)

    def stop(_signal: int, _frame: FrameType | None) -> None:
        os.write(write, b"!")

    signal.signal(signal.SIGTERM, stop)
    return read


def _name(argv: Sequence[str]) -> str:
    """Of the server, for people: of a text for a shell, the text."""
    _, *rest = argv
    return f"`{one_line(rest[1]) if rest[:1] == ['-c'] else PurePath(argv[0]).name}`"


class _Work:
    def __init__(self, client: Client, reporter: Reporter) -> None:
        self._client = client
        self._reporter = reporter
        self._told: dict[str, object] = {}

    def do(self, argv: Sequence[str], environ: Mapping[str, str], stop: int) -> End:
        try:
            server = Server(argv, environ)
        except OSError as error:
            return _not_started(self._client.name, error)
        talk, code = Talk(self._client, server, stop), None
        try:
            talk.hold(self._report)
        finally:
            code = server.close()
        return talk.end(code)

    def _report(self) -> None:
        client = self._client
        cost, tokens = client.spent.cost, client.spent.tokens
        told: dict[str, object] = {
            "session": None if client.session is None else client.spent.marked(client.session),
            "cost_usd": None if cost is None else cost / 1_000_000,
            "tokens": asdict(tokens) if isinstance(tokens, Usage) else tokens,
        }
        if told != self._told:
            self._told = told
            self._reporter.tell(**told)

    def settle(self, end: End) -> int:
        """Tell what became of it; the exit code."""
        if not self._client.has_prompted:
            self._reporter.tell(tokens=0, cost_usd=0)
        match end:
            case Done(text):
                sys.stdout.buffer.write(f"{text}\n".encode(errors="replace"))
                sys.stdout.buffer.flush()
                return 0
            case Failed(why):
                return self._failed(why, FAILURE)
            case CouldNot(why):
                return self._failed(why, COULD_NOT)
            case Trouble():
                return self._troubled(end)
            case Stopped():
                waited = self._client.waits_for or "its start"
                said = f"stopped while {self._client.name} owed an answer to `{waited}`"
                return self._failed(said, 128 + signal.SIGTERM)
            case _:
                assert_never(end)

    def _troubled(self, end: Trouble) -> int:
        client = self._client
        program = Program(use="acp", name=client.name, end="an end of its turn", sign_in=client.sign_in)
        found = meaning(Failure(text=end.text, status=end.status), program, at=time.time())
        code = FAILURE if found.how is How.FAILED else COULD_NOT
        return self._failed(found.message + end.more, code, limited_until=found.until)

    def _failed(self, message: str, code: int, **more: object) -> int:
        self._reporter.tell(error=message, **more)
        tell(f"error: {message}")
        return code


def _not_started(name: str, error: OSError) -> CouldNot:
    if isinstance(error, FileNotFoundError):
        return CouldNot(f"{name} was not found; {INSTALL}")
    return CouldNot(f"{name} could not be started: {error.strerror}; mend `command` of the agent")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ, sys.stdin.buffer))
