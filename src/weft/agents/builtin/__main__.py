"""The process of the agent: `python -m weft.agents.builtin [--api chat|messages] …`, the prompt on standard input.

Its answer is on standard output. Exit code 1 is work that failed, or that somebody must mend something first: a
key, a model, an option. 75 says that the model could not be asked now. The report and standard error say
why.
"""

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import BinaryIO

from weft.agents.builtin.failures import LIMITED, UNAVAILABLE, Failure
from weft.agents.builtin.record import Record
from weft.agents.builtin.settings import settings_of
from weft.agents.builtin.work import CouldNotAskError, Work
from weft.agents.limits import UNKNOWN
from weft.agents.reporting import COULD_NOT, FAILURE
from weft.errors import WeftError


class _StoppedError(BaseException):
    """Somebody wants an end to it: what it has started is ended on the way out."""


def _stop(_signal: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise _StoppedError


def main(argv: Sequence[str], environ: Mapping[str, str], stdin: BinaryIO) -> int:
    record = Record(environ.get("WEFT_RESULT") or None)
    signal.signal(signal.SIGTERM, _stop)
    try:
        return _work(argv, environ, stdin, record)
    except WeftError as error:
        record.settle()
        return _failed(record, str(error), FAILURE)
    except CouldNotAskError as error:
        return _could_not_ask(record, error.failure)
    except _StoppedError:
        return 128 + signal.SIGTERM


def _work(argv: Sequence[str], environ: Mapping[str, str], stdin: BinaryIO, record: Record) -> int:
    settings = settings_of(argv, environ)
    talk = record.resumed(settings.session)
    end = Work(settings, record, os.getcwd(), environ).do(talk, stdin.read().decode(errors="replace"))  # noqa: PTH109
    if end.failed:
        return _failed(record, end.failed, FAILURE)
    sys.stdout.buffer.write(f"{end.text}\n".encode(errors="replace"))
    sys.stdout.buffer.flush()
    return 0


def _could_not_ask(record: Record, failure: Failure) -> int:
    if failure.kind != UNAVAILABLE:  # then nobody knows what became of the request
        record.settle()
    limited = {"limited_for": UNKNOWN if failure.wait is None else failure.wait}
    more = limited if failure.kind == LIMITED else {}
    code = COULD_NOT if failure.kind in {LIMITED, UNAVAILABLE} else FAILURE
    return _failed(record, failure.message, code, **more)


def _failed(record: Record, message: str, code: int, **more: object) -> int:
    record.tell(error=message, **more)
    sys.stderr.buffer.write(f"error: {message}\n".encode(errors="replace"))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ, sys.stdin.buffer))
