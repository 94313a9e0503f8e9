"""The process of the agent: `python -m weft.agents.builtin [--api chat|messages] …`, the prompt on standard input.

It writes its answer to standard output. Exit code 1 means that the work failed, or that the user must fix
something first: a key, a model, an option. 75 means that the model could not be asked at this moment. The result
file and standard error say why.
"""

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import BinaryIO

from weft.agents.builtin.agent import CouldNotAskError, Work
from weft.agents.builtin.failures import LIMITED, UNAVAILABLE, RequestFailure
from weft.agents.builtin.record import AgentRecord
from weft.agents.builtin.settings import read_settings
from weft.agents.shared.result_writer import COULD_NOT, FAILURE
from weft.agents.shared.usage_limits import UNKNOWN
from weft.errors import WeftError


class _StoppedError(BaseException):
    """SIGTERM was received. The exception ends running commands on its way out."""


def _stop(_signal: int, _frame: FrameType | None) -> None:
    # A second SIGTERM must not interrupt the clean-up.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise _StoppedError


def main(argv: Sequence[str], environ: Mapping[str, str], stdin: BinaryIO) -> int:
    record = AgentRecord(environ.get("WEFT_RESULT") or None)
    signal.signal(signal.SIGTERM, _stop)
    try:
        return _work(argv, environ, stdin, record)
    except WeftError as error:
        record.report_spending()
        return _report_failure(record, str(error), FAILURE)
    except CouldNotAskError as error:
        return _report_request_failure(record, error.failure)
    # What was spent so far is in the result file already, and the conversation too, so nothing is left to write.
    except _StoppedError:
        return 128 + signal.SIGTERM


def _work(argv: Sequence[str], environ: Mapping[str, str], stdin: BinaryIO, record: AgentRecord) -> int:
    settings = read_settings(argv, environ)
    conversation = record.load(settings.session)
    end = Work(settings, record, os.getcwd(), environ).do(conversation, stdin.read().decode(errors="replace"))  # noqa: PTH109
    if end.failed:
        return _report_failure(record, end.failed, FAILURE)
    sys.stdout.buffer.write(f"{end.text}\n".encode(errors="replace"))
    sys.stdout.buffer.flush()
    return 0


def _report_request_failure(record: AgentRecord, failure: RequestFailure) -> int:
    if failure.kind != UNAVAILABLE:  # if the connection broke, the cost of the request is not known
        record.report_spending()
    limit_keys = {"limited_for": UNKNOWN if failure.wait is None else failure.wait}
    report_keys = limit_keys if failure.kind == LIMITED else {}
    code = COULD_NOT if failure.kind in {LIMITED, UNAVAILABLE} else FAILURE
    return _report_failure(record, failure.message, code, **report_keys)


def _report_failure(record: AgentRecord, message: str, code: int, **more: object) -> int:
    record.update(error=message, **more)
    sys.stderr.buffer.write(f"error: {message}\n".encode(errors="replace"))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ, sys.stdin.buffer))
