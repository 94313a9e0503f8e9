"""What lists and mappings may hold, and values of any kind."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from weft.plan.document import Items, Node, Scalar, Table
from weft.plan.kinds import WHOLE, Text
from weft.plan.reader import BAD, Kind, Reader, Schema, mismatch


@dataclass(frozen=True, slots=True)
class Json:
    """Any value that JSON can hold."""

    words: str = "any value"

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401
        match node:
            case Items():
                return [self.read(item, reader, name) for item in node.nodes]
            case Table():
                return {key: self.read(value, reader, name) for key, (_, value) in node.entries.items()}
            case Scalar():
                return _json_scalar(node)

    def schema(self) -> Schema:
        return {}


def _json_scalar(node: Scalar) -> str | int | float | bool | None:
    match node.kind():
        case "nothing":
            return None
        case "a boolean":
            return node.text[0] in "tT"
        case "a number":
            return int(node.text) if WHOLE.fullmatch(node.text) else _other_number(node.text)
        case _:
            return node.text


def _other_number(text: str) -> float:
    if text[:2] in {"0x", "0o"}:
        return int(text, 0)
    return float(text.replace(".inf", "inf").replace(".nan", "nan").lower().lstrip("."))


@dataclass(frozen=True, slots=True)
class JsonObject:
    words: str = "a mapping"

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401
        return (
            Json().read(node, reader, name) if isinstance(node, Table) else mismatch(self, node, reader, name)
        )

    def schema(self) -> Schema:
        return {"type": "object"}


@dataclass(frozen=True, slots=True)
class ListOf:
    item: Kind
    least: int = 0
    single: bool = False
    """Whether one value may stand for a list of one."""

    @property
    def words(self) -> str:
        many = f"a list of: {self.item.words}"
        return f"{self.item.words}, or {many}" if self.single else many

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401
        if isinstance(node, Items):
            if len(node.nodes) < self.least:
                reader.wrong(node, f"{name} is an empty list; at least {self.least} is needed")
                return BAD
            values = tuple(self.item.read(item, reader, name) for item in node.nodes)
            return BAD if BAD in values else values
        if not self.single:
            hint = f"; write [{node.text}]" if isinstance(node, Scalar) and node.text else ""
            return mismatch(self, node, reader, name, hint)
        value = self.item.read(node, reader, name)
        return BAD if value is BAD else (value,)

    def schema(self) -> Schema:
        many: Schema = {"type": "array", "items": self.item.schema()}
        if self.least:
            many["minItems"] = self.least
        return {"anyOf": [self.item.schema(), many]} if self.single else many


@dataclass(frozen=True, slots=True)
class MapOf:
    key: Text
    value: Kind

    @property
    def words(self) -> str:
        return f"a mapping of names to: {self.value.words}"

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401
        if not isinstance(node, Table):
            return mismatch(self, node, reader, name)
        values: dict[str, Any] = {}
        for key, (at, value) in node.entries.items():
            read = self.value.read(value, reader, f"{name}.{key}")
            if self.key.pattern is not None and not re.fullmatch(self.key.pattern, key):
                reader.wrong(at, f"{key!r} cannot be a name in {name}; allowed is {self.key.words}")
            elif read is not BAD:
                values[key] = read
        return values

    def schema(self) -> Schema:
        schema: Schema = {"type": "object", "additionalProperties": self.value.schema()}
        return schema if self.key.pattern is None else schema | {"propertyNames": self.key.schema()}


@dataclass(frozen=True, slots=True)
class Either:
    """One kind for a single value, another for a list, another for a mapping."""

    scalar: Kind | None = None
    items: Kind | None = None
    table: Kind | None = None

    @property
    def words(self) -> str:
        return ", or ".join(kind.words for kind in self._kinds())

    def _kinds(self) -> Sequence[Kind]:
        return [kind for kind in (self.scalar, self.items, self.table) if kind is not None]

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401
        kind = self.scalar
        if not isinstance(node, Scalar):
            kind = self.items if isinstance(node, Items) else self.table
        return mismatch(self, node, reader, name) if kind is None else kind.read(node, reader, name)

    def schema(self) -> Schema:
        return {"anyOf": [kind.schema() for kind in self._kinds()]}
