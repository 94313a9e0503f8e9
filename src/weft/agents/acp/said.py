"""What the agent said last: the text that came in pieces since it last did something. Pure."""

from weft.agents.report import clean_text

LONGEST = 1_000_000


class Said:
    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._message: object = None
        self._is_over = True

    def add(self, text: object, message: object) -> None:
        """A piece, and the message that it belongs to, if the server says so."""
        if not isinstance(text, str) or not text:
            return
        if self._is_over or (message is not None and message != self._message):
            self._pieces.clear()
            self._length = 0
        self._is_over, self._message = False, message
        self._pieces.append(clean_text(text)[: LONGEST - self._length])
        self._length += len(self._pieces[-1])

    def pause(self) -> None:
        """Something else happened; what is said after it is another message."""
        self._is_over = True

    @property
    def text(self) -> str:
        return "".join(self._pieces)
