"""`python -m weft.testing.models [SCRIPT] [--port N] [--log FILE]`: runs a scripted model until SIGTERM or SIGINT.

The first line of its output is its address. With `--log` it writes the requests to a file when it ends, one line
of JSON each; `GET /_log` returns them at any time. SCRIPT is a file, see `weft.testing.models.script`.
"""

import argparse
import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from weft.errors import WeftError
from weft.testing.models.script import ScriptRule, read_script
from weft.testing.models.server import ModelServer

_EXIT_BAD_SCRIPT = 2


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m weft.testing.models", description="A scripted model on loopback."
    )
    parser.add_argument("script", nargs="?", type=Path, help="a file of rules; without one, those built in")
    parser.add_argument("--port", type=int, default=0, help="instead of a free one")
    parser.add_argument("--log", type=Path, help="where to write, at the end, what was asked")
    options = parser.parse_args(argv)
    try:
        rules = _rules(options.script)
    except (WeftError, OSError) as error:
        sys.stderr.write(f"error: {options.script}: {error}\n")
        return _EXIT_BAD_SCRIPT
    stops = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, stops)  # before there are other threads, which inherit it
    with ModelServer(rules, port=options.port) as server:
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        signal.sigwait(stops)
        if options.log is not None:
            lines = [json.dumps(request.summary()) + "\n" for request in server.requests()]
            options.log.write_text("".join(lines), encoding="utf-8")
    return 0


def _rules(script: Path | None) -> tuple[ScriptRule, ...]:
    return () if script is None else read_script(script.read_text(encoding="utf-8"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
