"""Kinds of values that are lists, mappings, or of any shape."""

import math
import re
from collections.abc import Collection, Sequence
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

from weft.plan.language.kinds import Text
from weft.plan.language.reader import BAD, Kind, Reader, Schema, mismatch
from weft.plan.text.document import Items, Node, Scalar, Table

_WHOLE = re.compile(r"[-+]?[0-9]{1,600}|0o[0-7]{1,600}|0x[0-9a-fA-F]{1,600}")


class Json(Struct, frozen=True):
    """Any value that JSON can hold."""

    words: str = "any value of JSON"

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401
        match node:
            case Items():
                items = [self.read(item, reader, name) for item in node.nodes]
                return BAD if BAD in items else items
            case Table():
                table = {
                    key: self.read(value, reader, f"{name}.{key}") for key, (_, value) in node.entries.items()
                }
                return BAD if BAD in table.values() else table
            case Scalar():
                value = _json_scalar(node)
                return mismatch(self, node, reader, name) if value is BAD else value

    def schema(self) -> Schema:
        return {}


def _json_scalar(node: Scalar) -> object:
    match node.kind():
        case "nothing":
            return None
        case "a boolean":
            return node.text[0] in "tT"
        case "a number":
            return _json_number(node.text)
        case _:
            return node.text


def _json_number(text: str) -> object:
    """Returns the number; `BAD` if JSON has no such number: infinity, or too many digits."""
    if _WHOLE.fullmatch(text):
        # Base 0 understands 0x and 0o, but refuses a leading zero as in 007, which YAML allows.
        return int(text, 0 if text[1:2].isalpha() else 10)
    try:
        number = float(text)
    except ValueError:  # .inf and .nan, and long numbers in base 8 or 16
        return BAD
    return number if math.isfinite(number) else BAD


class JsonObject(Struct, frozen=True):
    words: str = "a mapping"

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401
        if not isinstance(node, Table):
            return mismatch(self, node, reader, name)
        return Json().read(node, reader, name)

    def schema(self) -> Schema:
        return {"type": "object"}


@runtime_checkable
class HasKeys(Protocol):
    """A kind of mapping with known keys."""

    @property
    def key_names(self) -> Collection[str]: ...


class ListOf(Struct, frozen=True):
    item: Kind
    least: int = 0

    @property
    def words(self) -> str:
        return f"a list of: {self.item.words}"

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401
        if not isinstance(node, Items):
            return mismatch(self, node, reader, name, self._advice(node, reader, name))
        if len(node.nodes) < self.least:
            reader.wrong(node, f"{name} is an empty list; at least {self.least} is needed")
            return BAD
        values = tuple(self.item.read(item, reader, name) for item in node.nodes)
        return BAD if BAD in values else values

    def _advice(self, node: Node, reader: Reader, name: str) -> str:
        """How to write the value as a list, if it is clear what was meant."""
        if isinstance(node, Table):
            return self._with_dashes(node)
        if not isinstance(node, Scalar) or not node.text.isprintable():
            return ""
        # A separate reader tests the value without reporting anything.
        right = self.item.read(node, Reader(reader.document), name) is not BAD
        return f"; write [{node.text}]" if right else ""

    def _with_dashes(self, table: Table) -> str:
        """Returns advice for a mapping in place of a list: a missing dash, or names used as keys."""
        keys = self.item.key_names if isinstance(self.item, HasKeys) else ()
        first = next(iter(table.entries), "")
        if not keys or not first.isprintable():
            return ""
        if len(table.entries) == 1 and isinstance(table.entries[first][1], Items) and first not in keys:
            return f"; leave out the key {first!r}, and write the list in its place"
        if first in keys:
            return f"; begin each entry with a dash, as in - {first}: …"
        return f"; write each name as an entry, as in - id: {first}" if "id" in keys else ""

    def schema(self) -> Schema:
        schema: Schema = {"type": "array", "items": self.item.schema()}
        return schema | {"minItems": self.least} if self.least else schema


class Single(Struct, frozen=True):
    """A single value that stands for a list of one."""

    item: Kind

    @property
    def words(self) -> str:
        return self.item.words

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401
        value = self.item.read(node, reader, name)
        return BAD if value is BAD else (value,)

    def schema(self) -> Schema:
        return self.item.schema()


class MapOf(Struct, frozen=True):
    key: Text
    value: Kind

    @property
    def words(self) -> str:
        return f"a mapping of names to: {self.value.words}"

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401
        if not isinstance(node, Table):
            advice = (
                "; write NAME: before each entry, in place of its dash" if isinstance(node, Items) else ""
            )
            return mismatch(self, node, reader, name, advice)
        values: dict[str, Any] = {}
        for key, (key_node, value) in node.entries.items():
            parsed = self.value.read(value, reader, f"{name}.{key}")
            if not self.key.allows(key):
                reader.wrong(key_node, f"{key!r} cannot be a name in {name}; it must be {self.key.words}")
            # Entries with good names and values are kept; later checks need them.
            elif parsed is not BAD:
                values[key] = parsed
        return values

    def schema(self) -> Schema:
        return {
            "type": "object",
            "additionalProperties": self.value.schema(),
            "propertyNames": self.key.schema(),
        }


class Either(Struct, frozen=True):
    """One kind for a single value, another for a list, another for a mapping."""

    scalar: Kind | None = None
    items: Kind | None = None
    table: Kind | None = None
    description: str = ""
    """A description, if those of the kinds are not clear together."""

    @property
    def words(self) -> str:
        return self.description or ", or ".join(kind.words for kind in self.kinds())

    def kinds(self) -> Sequence[Kind]:
        return [kind for kind in (self.scalar, self.items, self.table) if kind is not None]

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401
        kind = self.scalar
        if not isinstance(node, Scalar):
            kind = self.items if isinstance(node, Items) else self.table
        return mismatch(self, node, reader, name) if kind is None else kind.read(node, reader, name)

    def schema(self) -> Schema:
        return {"anyOf": [kind.schema() for kind in self.kinds()]}
