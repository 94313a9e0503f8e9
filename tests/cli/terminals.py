"""A command on a terminal, with somebody who reads and types."""

import os
import pty
import re
import subprocess
import termios
from codecs import getincrementaldecoder
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self

from cli.running import WEFT, Project

CTRL_C, CTRL_D = b"\x03", b"\x04"


class Terminal:
    """The terminal of a run, with somebody who reads it."""

    def __init__(self, directory: Path, env: Mapping[str, str], *arguments: str) -> None:
        self._master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (24, 100))
        self.run = subprocess.Popen(
            [WEFT, *arguments],
            cwd=directory,
            env={**env, "TERM": "xterm", "LANG": "C.UTF-8"},
            preexec_fn=lambda: os.login_tty(slave),  # noqa: PLW1509 - nothing else runs here
            pass_fds=[slave],
        )
        os.close(slave)
        self._decoder = getincrementaldecoder("utf-8")()
        self._raw = ""
        self._seen = 0

    @classmethod
    def of(cls, project: Project, *arguments: str) -> Self:
        return cls(project.root, project.env, *arguments)

    def sees(self, text: str) -> bool:
        """Reads on until the text has come."""
        while text not in self._unseen():
            self._take()
        self._seen += self._unseen().index(text) + len(text)
        return True

    def rest(self) -> str:
        """What comes until it has ended."""
        with suppress(OSError):  # nobody has the terminal open any more
            while True:
                self._take()
        return f"{self._unseen()}[{self.run.wait()}]"

    def _take(self) -> None:
        self._raw += self._decoder.decode(os.read(self._master, 65536))

    def _unseen(self) -> str:
        """Without what moves the cursor and paints."""
        text = re.sub(r"\x1b\[\??[0-9;]*[A-Za-z]", "", self._raw)
        return re.sub(r"\r+\n", "\n", text)[self._seen :]

    def type(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def answers(self, keys: bytes) -> None:
        """Once the question is not only shown but waited for: till then Python may overlook a Ctrl-C."""
        while Path(f"/proc/{self.run.pid}/stat").read_text().rpartition(") ")[2][0] != "S":
            os.sched_yield()
        self.type(keys)

    def echoes(self) -> bool:
        return bool(termios.tcgetattr(self._master)[3] & termios.ECHO)

    def hang_up(self) -> None:
        os.close(self._master)
        self._master = -1

    def close(self) -> None:
        if self._master >= 0:
            self.hang_up()
        self.run.kill()
        self.run.wait()
