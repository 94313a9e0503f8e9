"""Commands that mean another thing for each subplan, because they or their scripts read `WEFT_SUBPLAN`.

A script is found by its name in the command, as in `sh tools/verify.sh`. What a script runs in turn is not read,
so such a command has to name the variable itself.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from weft.engine.rules.step_result import shown
from weft.plan.model import Command
from weft.safe_files import UnsafeFileError, read_file

_NAME = "WEFT_SUBPLAN"
_WORD = re.compile(r"[\w./+@%:,~-]+")
_LARGEST = 1 << 20
"""The size in bytes of a script that is read."""


def read_subplan(commands: Iterable[Command], folder: Path) -> frozenset[Command]:
    """Returns the commands that read the name of their subplan. `folder` is the directory of the plan."""
    words: dict[str, bool] = {}

    def names_it(word: str) -> bool:
        if word not in words:
            words[word] = _file_names_it(folder / word)
        return words[word]

    def reads_it(command: Command) -> bool:
        text = shown(command)
        return _NAME in text or any(map(names_it, _WORD.findall(text)))

    return frozenset(filter(reads_it, commands))


def _file_names_it(file: Path) -> bool:
    try:
        return file.is_file() and _NAME.encode() in read_file(file.resolve(), most=_LARGEST)
    except (OSError, UnsafeFileError, ValueError):
        return False  # it cannot be read, or is no script
