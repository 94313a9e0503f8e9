"""A terminal that understands as much as is needed to draw on it."""

import io
import re

_TOKEN = re.compile(r"\x1b\[(\??)([0-9;]*)([A-Za-z])|\r|\n|[^\x1b\r\n]+")


class SmallTerminal(io.StringIO):
    """Rows of text, the oldest at the top; it does not wrap, and scrolls by growing."""

    def __init__(self, columns: int = 80, lines: int = 24) -> None:
        super().__init__()
        self.size = (columns, lines)
        self.rows = [""]
        self.row = self.column = 0
        self.has_cursor = True
        self.written = ""

    def write(self, text: str) -> int:
        self.written += text
        for item in _TOKEN.finditer(text):
            self._take(item)
        return len(text)

    def _take(self, found: re.Match[str]) -> None:
        token, private, number, command = found[0], found[1], found[2], found[3]
        if command is None:
            self._put(token)
        elif private:
            self.has_cursor = {"25h": True, "25l": False}.get(number + command, self.has_cursor)
        elif command == "A":
            self.row -= int(number or 1)
            assert self.row >= 0, "went up beyond the top"
        elif command in "KJ":
            self.rows[self.row] = self.rows[self.row][: self.column]
            self.rows[self.row + 1 :] = [] if command == "J" else self.rows[self.row + 1 :]
        else:
            assert command == "m", f"unknown: {token!r}"

    def _put(self, token: str) -> None:
        if token == "\r":
            self.column = 0
        elif token == "\n":
            self.row += 1
            self.rows += [""] * (self.row + 1 - len(self.rows))
        else:
            was = self.rows[self.row].ljust(self.column)
            self.column += len(token)
            self.rows[self.row] = was[: self.column - len(token)] + token + was[self.column :]

    @property
    def shown(self) -> list[str]:
        """All rows down to the cursor, and below it to the last that is not blank."""
        rows = [row.rstrip() for row in self.rows]
        while len(rows) > self.row + 1 and not rows[-1]:
            rows.pop()
        return rows

    def typed(self) -> str:
        """What has been written since this was last asked."""
        result, self.written = self.written, ""
        return result
