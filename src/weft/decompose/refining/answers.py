"""What an agent may answer about parts: names and words for them, and files that belong elsewhere.

All of it is somebody else's text that becomes a plan, and words for other agents. So it is read fail-closed: every
key is known, every value is plain text of bounded length, and all that is wrong is said at once, in sentences that
the agent itself can be told.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast
from unicodedata import category

from msgspec import Struct

from weft.decompose.model import ID, LONGEST_ID
from weft.decompose.words import shown

LONGEST_TITLE = 200
LONGEST_PROMPT = 4_000
_ON_A_PROMPT_S_LINES = "\n\t"


class Words(Struct, frozen=True, kw_only=True):
    """For the part of this path; None is what stays as it is."""

    part: str
    id: str | None = None
    title: str | None = None
    prompt: str | None = None


class Move(Struct, frozen=True, kw_only=True):
    file: str
    to: str
    """The path of a leaf."""


class Answer(Struct, frozen=True, kw_only=True):
    parts: tuple[Words, ...] = ()
    moves: tuple[Move, ...] = ()


def _texts(required: Sequence[str], **properties: Mapping[str, object]) -> dict[str, object]:
    return {
        "type": "array",
        "items": {
            "type": "object",
            "additionalProperties": False,
            "required": list(required),
            "properties": {name: {"type": "string", **more} for name, more in properties.items()},
        },
    }


SCHEMA: dict[str, object] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "parts": _texts(
            ["part"],
            part={},
            id={"pattern": f"^{ID.pattern}$"},
            title={"minLength": 1, "maxLength": LONGEST_TITLE},
            prompt={"minLength": 1, "maxLength": LONGEST_PROMPT},
        ),
        "moves": _texts(["file", "to"], file={}, to={}),
    },
}
"""What agents are shown; that texts are plain ones cannot be said in it."""


def read_answer(value: object) -> tuple[Answer, list[str]]:
    """What can be understood of it, and all that is wrong with its form."""
    reader = _Reader()
    answer = reader.answer(value)
    return answer, reader.faults


class _Reader:
    def __init__(self) -> None:
        self.faults: list[str] = []

    def answer(self, value: object) -> Answer:
        table = self._table(value, "the answer", SCHEMA)
        parts = [self._words(given, where) for where, given in self._items(table, "parts")]
        moves = [self._move(given, where) for where, given in self._items(table, "moves")]
        return Answer(parts=tuple(filter(None, parts)), moves=tuple(filter(None, moves)))

    def _items(self, table: Mapping[str, object], name: str) -> Iterator[tuple[str, Mapping[str, object]]]:
        given = table.get(name, [])
        if not isinstance(given, list):
            self.faults.append(f"`{name}` must be a list, and is {_kind(given)}")
            return
        schema = cast("Any", SCHEMA)["properties"][name]["items"]
        for number, item in enumerate(cast("list[object]", given), 1):
            where = f"{name}, entry {number}"
            yield where, self._table(item, where, schema)

    def _table(self, value: object, where: str, schema: Mapping[str, Any]) -> Mapping[str, object]:
        """What is in it by names that are known."""
        if not isinstance(value, dict):
            self.faults.append(f"{where} must be an object, and is {_kind(value)}")
            return {}
        given = cast("dict[str, object]", value)
        known: Mapping[str, object] = schema["properties"]
        for name in (name for name in given if name not in known):
            self.faults.append(f"{where} has the key {shown(name)}; there are {', '.join(known)}")
        for name in schema.get("required", ()):
            if name not in given:
                self.faults.append(f"{where} lacks `{name}`")
        return {name: one for name, one in given.items() if name in known}

    def _words(self, given: Mapping[str, object], where: str) -> Words | None:
        part = self._text(given, "part", f"in {where}")
        if part is None:
            return None
        where = f"of part {shown(part)}"
        return Words(
            part=part,
            id=self._text(given, "id", where, _id),
            title=self._text(given, "title", where, _title),
            prompt=self._text(given, "prompt", where, _prompt),
        )

    def _move(self, given: Mapping[str, object], where: str) -> Move | None:
        file, to = (self._text(given, name, f"in {where}") for name in ("file", "to"))
        return None if file is None or to is None else Move(file=file, to=to)

    def _text(
        self, given: Mapping[str, object], name: str, where: str, read: Callable[[str], str] = str
    ) -> str | None:
        """None if it is not there, or wrong, which is then told."""
        value = given.get(name)
        if not isinstance(value, str):
            if name in given:
                self.faults.append(f"`{name}` {where} must be text, and is {_kind(value)}")
            return None
        try:
            return read(value)
        except ValueError as error:
            self.faults.append(f"`{name}` {where} {error}")
            return None


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case str():
            return "text"
        case list():
            return "a list"
        case dict():
            return "an object"
        case _:
            return "a number"


# Kinds of text; what each raises goes on a sentence


def _id(text: str) -> str:
    if not ID.fullmatch(text):
        allowed = f"up to {LONGEST_ID} small letters, digits, - and _, the first a letter or digit"
        raise ValueError(f"is {shown(text)}; an id has {allowed}")
    return text


def _title(text: str) -> str:
    return _plain(text, LONGEST_TITLE, besides="")


def _prompt(text: str) -> str:
    return _plain(text, LONGEST_PROMPT, besides=_ON_A_PROMPT_S_LINES)


def _plain(text: str, longest: int, *, besides: str) -> str:
    """The text with all blanks in it as the usual one, for there are many, and nobody sees the difference."""
    if len(text) > longest:
        raise ValueError(f"has {len(text):,} characters, and {longest:,} are the most")
    plain = "".join(" " if category(sign) == "Zs" else sign for sign in text).strip()
    if not plain:
        raise ValueError("is empty")
    odd = next((sign for sign in plain if not sign.isprintable() and sign not in besides), None)
    if odd is not None:
        raise ValueError(f"has the character U+{ord(odd):04X}, which is no plain text")
    return plain
