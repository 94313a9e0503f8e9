"""The keys of a mapping. A key that the converter does not read gives a note with its line."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from weft.plan.convert.notes import ConversionSource
from weft.plan.text.document import Items, Node, Scalar, Table
from weft.plan.text.emit import Plain

NO_SUCH_KEY = "Weft has no such key"
NOT_CARRIED_OVER = "is not carried over"


class LocatedText(NamedTuple):
    """A text with its node."""

    text: str
    node: Node


class Fields:
    """A mapping of the input, which knows which of its keys have been read."""

    def __init__(self, table: Table, source: ConversionSource, subject: str = "") -> None:
        self.table = table
        self.source = source
        self.subject = subject
        """What the mapping is about, such as "slice 'disk'"; empty for the whole file."""
        self._read: set[str] = set()

    def named(self, subject: str) -> "Fields":
        self.subject = subject
        return self

    def take(self, key: str) -> Node | None:
        """The value, unless it is missing or null."""
        # Reading marks the key; whatever is left at the end becomes a note, so that nothing is dropped silently.
        self._read.add(key)
        node = self.table.get(key)
        # An empty value in YAML is null, and means the same as a missing key.
        return None if node is None or (isinstance(node, Scalar) and node.kind() == "nothing") else node

    def line(self, key: str) -> int:
        return self.table.key(key).line

    # Values by type. A value of another type is a fault, and then treated as missing.

    def text(self, key: str) -> str | None:
        node = self.take(key)
        if node is None or isinstance(node, Scalar):
            return None if node is None else node.text
        self.wrong(key, "must be text")
        return None

    def required_text(self, key: str) -> str:
        """Returns a text that must be present and not blank; empty after a fault."""
        node = self.take(key)
        value = self.text(key)
        if node is None or (value is not None and not value.strip()):
            self.wrong(key, "is missing" if node is None else "is empty")
        return value or ""

    def flag(self, key: str) -> bool | None:
        node = self.take(key)
        if node is None:
            return None
        if isinstance(node, Scalar) and node.kind() == "a boolean":
            return node.text.lower() == "true"
        self.wrong(key, "must be true or false")
        return None

    def number(self, key: str, *, least: int, most: int | None = None) -> int | None:
        node = self.take(key)
        if node is None:
            return None
        value = plain(node)
        if type(value) is int and value >= least and (most is None or value <= most):
            return value
        self.wrong(
            key,
            f"must be a whole number ≥ {least}"
            if most is None
            else f"must be a number from {least} to {most}",
        )
        return None

    def amount(self, key: str) -> int | float | None:
        node = self.take(key)
        if node is None:
            return None
        value = plain(node)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < float("inf"):
            return value
        self.wrong(key, "must be a number > 0")
        return None

    def choice(self, key: str, meanings: Mapping[str, str]) -> str | None:
        """Returns the meaning of one of a few words."""
        word = self.text(key)
        if word is not None and word not in meanings:
            self.wrong(key, f"is {word!r}; one of {', '.join(meanings)} is needed")
        return None if word is None else meanings.get(word)

    def words(self, key: str) -> tuple[LocatedText, ...]:
        node = self.take(key)
        if node is None:
            return ()
        if isinstance(node, Items) and all(isinstance(item, Scalar) for item in node.nodes):
            return tuple(LocatedText(item.text, item) for item in node.nodes if isinstance(item, Scalar))
        self.wrong(key, "must be a list of words")
        return ()

    def lines(self, key: str) -> str:
        """Returns a text, or a list of texts as lines."""
        if isinstance(self.take(key), Items):
            return "\n".join(word.text for word in self.words(key))
        return self.text(key) or ""

    def fields(self, key: str) -> "Fields | None":
        node = self.take(key)
        if node is None or isinstance(node, Table):
            return None if node is None else Fields(node, self.source, self.subject)
        self.wrong(key, "must be a mapping")
        return None

    def each(self, key: str) -> list["Fields"]:
        """The mappings of a list."""
        node = self.take(key)
        if node is None:
            return []
        if not isinstance(node, Items):
            self.wrong(key, "must be a list")
            return []
        return list(self._tables(node, key))

    def _tables(self, items: Items, key: str) -> Iterator["Fields"]:
        for item in items.nodes:
            if isinstance(item, Table):
                yield Fields(item, self.source, self.subject)
            else:
                self.source.fault_at(item, self._with_subject(f"each of {key} must be a mapping"))

    # Faults and notes.

    def _with_subject(self, message: str) -> str:
        return f"{self.subject}: {message}" if self.subject else message

    def wrong(self, key: str, message: str) -> None:
        self.source.fault_at(
            self.table.get(key) or self.table.key(key), self._with_subject(f"{key} {message}")
        )

    def note(self, key: str, message: str, reason: str) -> None:
        self.source.note(self.line(key), self._with_subject(message), reason)

    def leave(self, key: str, why: str = NO_SUCH_KEY) -> None:
        """Notes a key that is known and not carried over, unless it is empty.

        An empty list is not nothing: it can mean that nothing is allowed.
        """
        if not _is_empty(self.take(key)):
            self.note(key, f"{key} {NOT_CARRIED_OVER}", why)

    def rest(self, reasons: Mapping[str, str] | None = None) -> None:
        """Notes all keys that were not read."""
        for key in self.table.entries:
            if key not in self._read:
                self.leave(key, (reasons or {}).get(key, NO_SUCH_KEY))


def _is_empty(node: Node | None) -> bool:
    match node:
        case None:
            return True
        case Scalar():
            return node.text == ""
        case Items():
            return False
        case Table():
            return all(_is_empty(value) or _is_null(value) for _, value in node.entries.values())


def _is_null(node: Node) -> bool:
    return isinstance(node, Scalar) and node.kind() == "nothing"


def plain(node: Node) -> Plain:
    """Returns the value as data, by the rules of YAML 1.2."""
    match node:
        case Items():
            return [plain(item) for item in node.nodes]
        case Table():
            return {key: plain(value) for key, (_, value) in node.entries.items()}
        case Scalar():
            return _value(node)


def _value(scalar: Scalar) -> Plain:
    match scalar.kind():
        case "nothing":
            return None
        case "a boolean":
            return scalar.text.lower() == "true"
        case "a number":
            return _number(scalar.text)
        case _:
            return scalar.text


def _number(text: str) -> int | float:
    if text.lstrip("+-")[:2] in {"0x", "0o"}:
        return int(text, 0)
    try:
        return int(text)
    except ValueError:
        return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
