"""The last message of the agent: the text chunks that arrived since its last tool call. Pure."""

from weft.agents.shared.result_file import clean_text

LONGEST = 1_000_000


class LastMessage:
    """Collects the chunks of the current message and drops earlier messages."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._message: object = None
        self._is_over = True

    def add(self, text: object, message: object) -> None:
        """Appends a chunk. `message` is the id of its message, if the server sends one."""
        if not isinstance(text, str) or not text:
            return
        # Servers that number their messages may start a new one without a tool call in between.
        if self._is_over or (message is not None and message != self._message):
            self._pieces.clear()
            self._length = 0
        self._is_over, self._message = False, message
        self._pieces.append(clean_text(text)[: LONGEST - self._length])
        self._length += len(self._pieces[-1])

    def pause(self) -> str:
        """Ends the current message and returns it; empty if there is none. The next chunk starts a new one."""
        was_over, self._is_over = self._is_over, True
        return "" if was_over else self.text

    @property
    def text(self) -> str:
        return "".join(self._pieces)
