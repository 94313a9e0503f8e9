"""The client process: `python -m weft.agents.acp COMMAND…` starts that server; the prompt is on standard input.

It writes the agent's last message to standard output. Exit code 1 means that the work failed, 75 that it could not
start; the result file and standard error say why.
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

from weft.agents.acp.client import Client, TurnBrief
from weft.agents.acp.outcomes import (
    End,
    ServerError,
    TurnCancellation,
    TurnCompletion,
    TurnFailure,
    Unavailable,
)
from weft.agents.acp.server import INSTALL, Exchange, Server, log_line
from weft.agents.shared.failures import ReportedFailure, diagnose
from weft.agents.shared.result_writer import COULD_NOT, FAILURE, Reporter
from weft.agents.shared.text import one_line
from weft.engine.messages.facts import StepOutcome
from weft.plan.agent_program import AgentProgram
from weft.plan.prices import Usage
from weft.terms import MICRO


def main(argv: Sequence[str], environ: Mapping[str, str], stdin: BinaryIO) -> int:
    stop = _watch_sigterm()
    brief = TurnBrief(
        server=_server_name(argv),
        prompt=stdin.read().decode(errors="replace"),
        cwd=os.getcwd(),  # noqa: PTH109
        session=environ.get("WEFT_SESSION") or None,
        fork=bool(environ.get("WEFT_FORK")),
        read_only=bool(environ.get("WEFT_READ_ONLY")),
        model=environ.get("WEFT_MODEL") or None,
    )
    work = _Session(Client(brief), Reporter(environ.get("WEFT_RESULT") or None))
    return work.settle(work.do(argv, environ, stop))


def _watch_sigterm() -> int:
    """Returns a descriptor that becomes readable when the process receives SIGTERM."""
    read, write = os.pipe()
    # A further signal must not block the handler when the pipe is full.
    os.set_blocking(write, False)

    def stop(_signal: int, _frame: FrameType | None) -> None:
        os.write(write, b"!")

    signal.signal(signal.SIGTERM, stop)
    return read


def _server_name(argv: Sequence[str]) -> str:
    """Returns the server's name for messages: the program, or the text of a shell command."""
    _, *rest = argv
    return f"`{one_line(rest[1]) if rest[:1] == ['-c'] else PurePath(argv[0]).name}`"


class _Session:
    def __init__(self, client: Client, reporter: Reporter) -> None:
        self._client = client
        self._reporter = reporter
        self._last_report: dict[str, object] = {}

    def do(self, argv: Sequence[str], environ: Mapping[str, str], stop: int) -> End:
        try:
            server = Server(argv, environ)
        except OSError as error:
            return _describe_start_failure(self._client.name, error)
        exchange, code = Exchange(self._client, server, stop), None
        try:
            exchange.run(self._report)
        finally:
            # In any case, also after an exception: a server left behind would keep working in the worktree and
            # cost money.
            code = server.close()
        return exchange.end(code)

    def _report(self) -> None:
        client = self._client
        cost, tokens = client.spending.cost, client.spending.tokens
        report: dict[str, object] = {
            "session": None if client.session is None else client.spending.append_cost_mark(client.session),
            "cost_usd": None if cost is None else cost / MICRO,
            "tokens": asdict(tokens) if isinstance(tokens, Usage) else tokens,
        }
        # Updates arrive with every chunk of text; the file is written only when its contents change.
        if report != self._last_report:
            self._last_report = report
            self._reporter.update(**report)

    def settle(self, end: End) -> int:
        """Reports the end of the conversation and returns the exit code."""
        # Without a prompt nothing was spent. An absent value would mean that the spending is unknown.
        if not self._client.has_prompted:
            self._reporter.update(tokens=0, cost_usd=0)
        match end:
            case TurnCompletion(text):
                sys.stdout.buffer.write(f"{text}\n".encode(errors="replace"))
                sys.stdout.buffer.flush()
                return 0
            case TurnFailure(why):
                return self._report_failure(why, FAILURE)
            case Unavailable(why):
                return self._report_failure(why, COULD_NOT)
            case ServerError():
                return self._report_server_error(end)
            case TurnCancellation():
                pending = self._client.waits_for or "initialize"
                message = f"stopped before {self._client.name} answered `{pending}`"
                # The exit code of a shell whose program was killed by that signal; the supervisor knows that Weft
                # asked for the stop.
                return self._report_failure(message, 128 + signal.SIGTERM)
            case _:
                assert_never(end)

    def _report_server_error(self, end: ServerError) -> int:
        client = self._client
        program = AgentProgram(name="acp", doc="the server", title=client.name, sign_in=client.sign_in)
        diagnosis = diagnose(ReportedFailure(text=end.text, status=end.status), program, at=time.time())
        code = FAILURE if diagnosis.how is StepOutcome.FAILED else COULD_NOT
        return self._report_failure(diagnosis.message + end.more, code, limited_until=diagnosis.until)

    def _report_failure(self, message: str, code: int, **more: object) -> int:
        self._reporter.update(error=message, **more)
        log_line(f"error: {message}")
        return code


def _describe_start_failure(name: str, error: OSError) -> Unavailable:
    if isinstance(error, FileNotFoundError):
        return Unavailable(f"{name} was not found; {INSTALL}")
    return Unavailable(f"{name} could not be started: {error.strerror}; fix `command` of the agent")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ, sys.stdin.buffer))
