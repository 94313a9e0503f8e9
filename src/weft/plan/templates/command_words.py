"""The words of a shell command, as far as it has been read.

The reader in `shell` reports each piece of text. This class keeps the words of the simple command that is being
read, and those of the commands around it, if it is within `$(…)` or `(…)`. Nothing is expanded: a word is its
text without quotes.
"""

import re

_TOKEN = re.compile(
    r"(?P<blank>[ \t\r]+)|(?P<redirect>&?[<>][<>&|]*[ \t]*)|(?P<end>[;&|\n]+)|[^ \t\r;&|\n<>]+"
)


class CommandWords:
    """The words of the simple command that is being read."""

    def __init__(self) -> None:
        self._open: list[tuple[list[str], str | None]] = []
        self.words: list[str] = []
        """The complete words."""
        self._word: str | None = None
        """The word that is being read."""
        self._is_file = False
        """Whether this word, or the next one, is the file of a redirection."""

    def add(self, text: str, *, quoted: bool) -> None:
        if quoted:
            self._word = (self._word or "") + text
            return
        for token in _TOKEN.finditer(text):
            if token["redirect"]:
                self._redirect()
            elif token["blank"] or token["end"]:
                self._end_word()
                # `;`, `|` and a line break start a new simple command.
                self.words = [] if token["end"] else self.words
            else:
                self._word = (self._word or "") + token[0]

    def enter(self) -> None:
        """Starts a command within the one that is being read."""
        # The result of `$(…)` belongs to the word around it, so that word exists from now on, even if it is still
        # empty.
        self._open.append((self.words, self._word or ""))
        self.words, self._word = [], None

    def leave(self) -> None:
        if self._open:
            self.words, self._word = self._open.pop()

    def _redirect(self) -> None:
        """Drops the number before `>` and the file behind it, which are not words of the command."""
        if self._word is not None and self._word.isdecimal():
            self._word = None
        self._end_word()
        self._is_file = True

    def _end_word(self) -> None:
        if self._word is not None:
            self.words += [] if self._is_file else [self._word]
            self._is_file = False
        self._word = None
