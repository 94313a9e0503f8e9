"""The operation `pull`: what is new in the outputs of jobs since the coordinator last asked.

The coordinator keeps a copy of each output. It names the parts that it has, with their sizes and states; the
answer names the parts that have changed, and its payload holds their new bytes one after the other. Output that
only grows is sent from the size that the coordinator has. A part that was replaced is sent as a whole.
"""

import os
import stat
from pathlib import Path
from typing import Any, BinaryIO

from weft.safe_files import locate, open_file

from .context import FarContext

MOST = 1 << 20
"""The bytes of one answer, beyond which the coordinator asks again."""
KEPT = 16 << 20
"""Only the last bytes of a longer report are sent; a job can write one of any length."""
_STREAMS = {"out", "err"}
_BLOCK = 1 << 18
_LARGEST_BEAT = 1 << 24

Part = dict[str, Any]


def pull(context: FarContext, arguments: dict[str, Any], payload: Path | None) -> tuple[Part, Path | None]:  # noqa: ARG001
    """Arguments: `outputs` maps the name of an output to its parts, and these to [size, state].

    A size of 0 without a state requests the part as a whole.
    """
    file = context.new_file()
    answer: list[Part] = []
    tree, place = locate(file)
    with os.fdopen(tree.create(place), "wb") as stream:
        room = MOST
        for output, parts in arguments["outputs"].items():
            for part, (size, state) in parts.items():
                news = _news(context, output, part, size, state)
                if news is not None:
                    room -= _copy(news, stream, room)
                    answer.append(news | {"output": output, "part": part})
    return {"parts": [_plain(news) for news in answer], "heartbeat": _heartbeat(context)}, file


def _plain(news: Part) -> Part:
    return {name: value for name, value in news.items() if name != "descriptor"}


def _news(context: FarContext, output: str, part: str, size: int, state: str) -> Part | None:
    """Returns what has changed in a part, with an open descriptor; None if nothing has."""
    if ".." in output.split("/"):
        return None
    try:
        descriptor = open_file(f"{context.outputs}/{output}.{part}")  # below `.weft`, so no link is followed
    except OSError:
        return None
    status = os.fstat(descriptor)
    current = f"{status.st_ino}-{status.st_size}-{status.st_mtime_ns}"
    if not stat.S_ISREG(status.st_mode) or current == state:
        os.close(descriptor)
        return None
    # A report usually grows, too. Whether it was replaced instead does not show, so the coordinator requests it as
    # a whole in the end.
    grows = part in _STREAMS or (status.st_size >= size and state.startswith(f"{status.st_ino}-"))
    offset = max(size if grows else 0, status.st_size - KEPT if part not in _STREAMS else 0)
    return {"descriptor": descriptor, "offset": offset, "size": status.st_size, "state": current}


def _copy(news: Part, stream: BinaryIO, room: int) -> int:
    """Copies the new bytes as far as there is room; returns their number."""
    descriptor, offset = news["descriptor"], news["offset"]
    length = max(0, min(news["size"] - offset, room))
    try:
        copied = 0
        while copied < length and (
            block := os.pread(descriptor, min(_BLOCK, length - copied), offset + copied)
        ):
            stream.write(block)
            copied += len(block)
    finally:
        os.close(descriptor)
    news["length"] = copied
    return copied


def _heartbeat(context: FarContext) -> str | None:
    """Returns the supervisor's heartbeat; None without one."""
    try:
        with os.fdopen(open_file(context.supervisor_directory / "heartbeat.json"), "rb") as stream:
            return stream.read(_LARGEST_BEAT).decode()
    except (OSError, UnicodeDecodeError):
        return None
