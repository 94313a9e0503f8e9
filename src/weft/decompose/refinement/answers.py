"""The answer of an agent about parts: texts for them, and files that belong elsewhere.

The answer is untrusted text that becomes part of a plan and of prompts for other agents. It is therefore read
strictly: only known keys, only plain text of bounded length. All faults are collected, as sentences that can be
sent back to the agent.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast
from unicodedata import category

from msgspec import Struct

from weft.decompose.model import ID, LONGEST_ID
from weft.decompose.words import shown

LONGEST_TITLE = 200
LONGEST_PROMPT = 4_000
_ALLOWED_IN_PROMPTS = "\n\t"


class NewTexts(Struct, frozen=True, kw_only=True):
    """New texts for the part of this path; None keeps the present text."""

    part: str
    id: str | None = None
    title: str | None = None
    prompt: str | None = None


class FileMove(Struct, frozen=True, kw_only=True):
    """The move of a file to another leaf."""

    file: str
    to: str
    """The path of a leaf."""


class RefinementAnswer(Struct, frozen=True, kw_only=True):
    """A valid answer."""

    parts: tuple[NewTexts, ...] = ()
    moves: tuple[FileMove, ...] = ()


def _list_schema(required: Sequence[str], **properties: Mapping[str, object]) -> dict[str, object]:
    return {
        "type": "array",
        "items": {
            "type": "object",
            "additionalProperties": False,
            "required": list(required),
            "properties": {
                name: {"type": "string", **constraints} for name, constraints in properties.items()
            },
        },
    }


SCHEMA: dict[str, object] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "parts": _list_schema(
            ["part"],
            part={},
            id={"pattern": f"^{ID.pattern}$"},
            title={"minLength": 1, "maxLength": LONGEST_TITLE},
            prompt={"minLength": 1, "maxLength": LONGEST_PROMPT},
        ),
        "moves": _list_schema(["file", "to"], file={}, to={}),
    },
}
"""The schema that agents see. It cannot express that texts must be plain."""


def read_answer(value: object) -> tuple[RefinementAnswer, list[str]]:
    """Returns the valid part of the answer, and all faults of its form."""
    reader = _Reader()
    answer = reader.answer(value)
    return answer, reader.faults


class _Reader:
    def __init__(self) -> None:
        self.faults: list[str] = []

    def answer(self, value: object) -> RefinementAnswer:
        keys = self._table(value, "the answer", SCHEMA)
        parts = [self._words(entry, where) for where, entry in self._items(keys, "parts")]
        moves = [self._move(entry, where) for where, entry in self._items(keys, "moves")]
        return RefinementAnswer(parts=tuple(filter(None, parts)), moves=tuple(filter(None, moves)))

    def _items(self, keys: Mapping[str, object], name: str) -> Iterator[tuple[str, Mapping[str, object]]]:
        entries = keys.get(name, [])
        if not isinstance(entries, list):
            self.faults.append(f"`{name}` must be a list, and is {_describe_type(entries)}")
            return
        schema = cast("Any", SCHEMA)["properties"][name]["items"]
        for number, entry in enumerate(cast("list[object]", entries), 1):
            where = f"{name}, entry {number}"
            yield where, self._table(entry, where, schema)

    def _table(self, value: object, where: str, schema: Mapping[str, Any]) -> Mapping[str, object]:
        """Returns the known keys of an object, and reports the others."""
        if not isinstance(value, dict):
            self.faults.append(f"{where} must be an object, and is {_describe_type(value)}")
            return {}
        keys = cast("dict[str, object]", value)
        allowed: Mapping[str, object] = schema["properties"]
        for name in (name for name in keys if name not in allowed):
            self.faults.append(f"{where} has the key {shown(name)}; there are {', '.join(allowed)}")
        for name in schema.get("required", ()):
            if name not in keys:
                self.faults.append(f"{where} lacks `{name}`")
        return {name: entry for name, entry in keys.items() if name in allowed}

    def _words(self, keys: Mapping[str, object], where: str) -> NewTexts | None:
        part = self._text(keys, "part", f"in {where}")
        if part is None:
            return None
        where = f"of part {shown(part)}"
        return NewTexts(
            part=part,
            id=self._text(keys, "id", where, _check_id),
            title=self._text(keys, "title", where, _check_title),
            prompt=self._text(keys, "prompt", where, _check_prompt),
        )

    def _move(self, keys: Mapping[str, object], where: str) -> FileMove | None:
        file, to = (self._text(keys, name, f"in {where}") for name in ("file", "to"))
        return None if file is None or to is None else FileMove(file=file, to=to)

    def _text(
        self, keys: Mapping[str, object], name: str, where: str, read: Callable[[str], str] = str
    ) -> str | None:
        """Returns the text under a key; None if it is missing, or invalid, which is reported."""
        value = keys.get(name)
        if not isinstance(value, str):
            # A missing key is reported by `_table` if it is required.
            if name in keys:
                self.faults.append(f"`{name}` {where} must be text, and is {_describe_type(value)}")
            return None
        try:
            return read(value)
        except ValueError as error:
            self.faults.append(f"`{name}` {where} {error}")
            return None


def _describe_type(value: object) -> str:
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


# Checks of texts; the message of each ValueError completes a sentence


def _check_id(text: str) -> str:
    if not ID.fullmatch(text):
        allowed = f"up to {LONGEST_ID} small letters, digits, - and _, the first a letter or digit"
        raise ValueError(f"is {shown(text)}; an id has {allowed}")
    return text


def _check_title(text: str) -> str:
    return _check_plain(text, LONGEST_TITLE, allowed="")


def _check_prompt(text: str) -> str:
    return _check_plain(text, LONGEST_PROMPT, allowed=_ALLOWED_IN_PROMPTS)


def _check_plain(text: str, longest: int, *, allowed: str) -> str:
    """Returns the text with every kind of space replaced by the usual one, because they look alike."""
    if len(text) > longest:
        raise ValueError(f"has {len(text):,} characters; the limit is {longest:,}")
    plain = "".join(" " if category(char) == "Zs" else char for char in text).strip()
    if not plain:
        raise ValueError("is empty")
    unprintable = next((char for char in plain if not char.isprintable() and char not in allowed), None)
    if unprintable is not None:
        raise ValueError(f"has the character U+{ord(unprintable):04X}, which is not plain text")
    return plain
