"""Mappings with known keys: which keys exist, what each may hold, which go together.

A record is read in one pass. Errors are reported and valid values are kept, so that one mistake does not hide the
next. Its rules are data with three forms: a check, a piece of JSON Schema and a sentence.
"""

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import Any, Protocol

from msgspec import Struct

from weft.plan.language.kinds import Choice
from weft.plan.language.kinds_of_many import Json
from weft.plan.language.reader import BAD, Kind, Reader, Schema, mismatch
from weft.plan.text.document import Items, Node, Scalar, Table, read_document
from weft.plan.text.problems import nearest, suggestion

_NAMES_SHOWN = 4


class Key(Struct, frozen=True, kw_only=True):
    """A key of a record."""

    name: str
    kind: Kind
    doc: str
    """A sentence or two, for the reference and for editors."""
    required: bool = False
    default: str | None = None
    """What applies without the key: a value as it would be written, or `Words`."""
    example: str | None = None
    """A value as it would be written."""


class Words(str):
    """A default that is a description and not a value."""

    __slots__ = ()


class Values:
    """The valid values of a record by key, and the table they were read from."""

    __slots__ = ("by_key", "table")

    def __init__(self, by_key: dict[str, Any], table: Table) -> None:
        self.by_key = by_key
        self.table = table

    def get(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 - as the key's kind says
        return self.by_key.get(name, default)


class Record(Struct, frozen=True, eq=False, dict=True):
    """A mapping with known keys."""

    name: str
    doc: str
    keys: tuple[Key, ...]
    rules: "tuple[KeyRule, ...]" = ()

    @cached_property
    def _key_by_name(self) -> dict[str, Key]:
        return {key.name: key for key in self.keys}

    @cached_property
    def _required(self) -> list[Key]:
        return [key for key in self.keys if key.required]

    def __repr__(self) -> str:
        # Records contain each other, so a full representation would be very long.
        return f"Record({self.name!r})"

    @property
    def words(self) -> str:
        names = [key.name for key in self.keys]
        more = ", …" if len(names) > _NAMES_SHOWN else ""
        return f"a mapping with the keys {', '.join(names[:_NAMES_SHOWN])}{more}"

    @property
    def title(self) -> str:
        """The name as a heading, without its article."""
        article, _, rest = self.name.partition(" ")
        return rest if article in {"a", "an", "the"} else self.name

    def key(self, name: str) -> Key:
        return self._key_by_name[name]

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401 - Values, or BAD
        if type(node) is not Table:
            return mismatch(self, node, reader, name, self._mapping_advice(node, reader))
        keys = self._key_by_name
        if not node.entries.keys() <= keys.keys():
            node = self._without_unknown_keys(node, reader)
        by_key: dict[str, Any] = {}
        for key_name, (_, value) in node.entries.items():
            parsed = keys[key_name].kind.read(value, reader, key_name)
            if parsed is not BAD:
                by_key[key_name] = parsed
        # A required key with a bad value is reported by its kind, not as missing.
        for key in self._required:
            if key.name not in node.entries:
                reader.wrong(node, f"{self.name} needs the key {key.name!r} ({key.kind.words})")
        # Rules look at the table and not at the values: a key with a bad value is present all the same.
        for rule in self.rules:
            rule.check(node, reader, self.name)
        return Values(by_key, node)

    @property
    def key_names(self) -> Collection[str]:
        return self._key_by_name.keys()

    def _mapping_advice(self, node: Node, reader: Reader) -> str:
        """Returns advice if one key clearly takes this value: a required one, or one with such choices."""
        if not isinstance(node, Scalar) or not node.text.isprintable():
            return ""
        # A record with one required key is probably abbreviated to its value.
        keys = self._required or [key for key in self.keys if isinstance(key.kind, Choice)]
        fitting = [
            key.name for key in keys if key.kind.read(node, Reader(reader.document), key.name) is not BAD
        ]
        is_clear = len(fitting) == 1 and len(self._required) <= 1
        return f"; write {{{fitting[0]}: {node.text}}}" if is_clear else ""

    def _without_unknown_keys(self, table: Table, reader: Reader) -> Table:
        """Returns the table without unknown keys.

        A misspelt key stands for the one meant, so that it is reported once.
        """
        result = Table(table.line, table.column)
        for name, entry in table.entries.items():
            if name in self._key_by_name:
                result.entries[name] = entry
                continue
            near = None if reader.full else nearest(name, self._key_by_name)
            hint = "" if reader.full else suggestion(name, list(self._key_by_name))
            reader.wrong(entry[0], f"unknown key {name!r} in {self.name}{hint}")
            if near is not None:  # a correctly spelt key takes precedence
                # The value is then checked under the key that was meant.
                result.entries.setdefault(near, entry)
        return result

    def schema(self) -> Schema:
        return {"$ref": f"#/$defs/{self.title}"}

    def definition(self) -> Schema:
        schema: Schema = {
            "title": self.title,
            "description": self.doc,
            "type": "object",
            "properties": {key.name: _describe(key) for key in self.keys},
        }
        if self._required:
            schema["required"] = [key.name for key in self._required]
        schema["additionalProperties"] = False
        if self.rules:
            schema["allOf"] = [rule.schema() for rule in self.rules]
        return schema


def _describe(key: Key) -> Schema:
    default = "" if key.default is None else f" Default: {key.default}."
    schema = key.kind.schema() | {"description": key.doc + default}
    if key.default is not None and not isinstance(key.default, Words):
        schema["default"] = written_value(key.default)
    if key.example is not None:
        schema["examples"] = [written_value(key.example)]
    return schema


def written_value(text: str) -> Any:  # noqa: ANN401 - any value of JSON
    """Returns the value that this text of the tables has in a plan."""
    document = read_document(text, "the language")
    return Json().read(document.root, Reader(document), "a value")


class Later(Struct, frozen=True):
    """A reference to a record that is defined further down, or that contains this one."""

    record: Callable[[], Record]

    @property
    def words(self) -> str:
        return self.record().words

    @property
    def key_names(self) -> Collection[str]:
        return self.record().key_names

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401
        return self.record().read(node, reader, name)

    def schema(self) -> Schema:
        return self.record().schema()


# Rules.


class KeyRule(Protocol):
    def check(self, table: Table, reader: Reader, name: str) -> None: ...

    def schema(self) -> Schema: ...

    @property
    def sentence(self) -> str: ...


class Has(Struct, frozen=True):
    key: str

    def holds(self, table: Table) -> bool:
        return self.key in table.entries

    def schema(self) -> Schema:
        return {"required": [self.key]}

    def __str__(self) -> str:
        return f"`{self.key}`"


class Is(Struct, frozen=True):
    key: str
    value: str

    def holds(self, table: Table) -> bool:
        node = table.get(self.key)
        return isinstance(node, Scalar) and node.text == self.value

    def schema(self) -> Schema:
        return {"required": [self.key], "properties": {self.key: {"const": self.value}}}

    def __str__(self) -> str:
        return f"`{self.key}: {self.value}`"


class AnyOf(Struct, frozen=True):
    conditions: "tuple[Has | Is, ...]"

    def holds(self, table: Table) -> bool:
        return any(condition.holds(table) for condition in self.conditions)

    def schema(self) -> Schema:
        return {"anyOf": [condition.schema() for condition in self.conditions]}

    def __str__(self) -> str:
        return " or ".join(map(str, self.conditions))


Condition = Has | Is | AnyOf


class ExactlyOne(Struct, frozen=True):
    keys: tuple[str, ...]

    @property
    def sentence(self) -> str:
        return f"Exactly one of {_list_keys(self.keys)}."

    def check(self, table: Table, reader: Reader, name: str) -> None:
        present = [key for key in self.keys if key in table.entries]
        if not present:
            reader.wrong(table, f"{name} needs exactly one of: {', '.join(self.keys)}")
        for extra in present[1:]:
            reader.wrong(
                table.key(extra),
                f"{extra!r} cannot stand beside {present[0]!r}; one of them says what is done",
            )

    def schema(self) -> Schema:
        return {"oneOf": [{"required": [key]} for key in self.keys]}


class AtMostOne(Struct, frozen=True):
    keys: tuple[str, ...]

    @property
    def sentence(self) -> str:
        return f"At most one of {_list_keys(self.keys)}."

    def check(self, table: Table, reader: Reader, name: str) -> None:
        present = [key for key in self.keys if key in table.entries]
        for extra in present[1:]:
            reader.wrong(table.key(extra), f"{name} cannot have both {present[0]!r} and {extra!r}")

    def schema(self) -> Schema:
        pairs = [(a, b) for number, a in enumerate(self.keys) for b in self.keys[number + 1 :]]
        # JSON Schema has no `atMostOne`, so each pair is forbidden.
        return {"not": {"anyOf": [{"required": list(pair)} for pair in pairs]}}


class AtLeastOne(Struct, frozen=True):
    keys: tuple[str, ...]

    @property
    def sentence(self) -> str:
        return f"At least one of {_list_keys(self.keys)}."

    def check(self, table: Table, reader: Reader, name: str) -> None:
        if not any(key in table.entries for key in self.keys):
            reader.wrong(table, f"{name} needs at least one of: {', '.join(self.keys)}")

    def schema(self) -> Schema:
        return {"anyOf": [{"required": [key]} for key in self.keys]}


class OnlyWith(Struct, frozen=True):
    """The keys are allowed only if the condition holds."""

    keys: tuple[str, ...]
    condition: Condition

    @property
    def sentence(self) -> str:
        verb = "has" if len(self.keys) == 1 else "have"
        return f"{_list_keys(self.keys)} {verb} a meaning only with {self.condition}."

    def check(self, table: Table, reader: Reader, name: str) -> None:
        if not self.condition.holds(table):
            for key in self.keys:
                if key in table.entries:
                    needed = _quote_condition(self.condition)
                    reader.wrong(table.key(key), f"{key!r} has no meaning in {name} without {needed}")

    def schema(self) -> Schema:
        return {
            "if": {"not": self.condition.schema()},
            "then": {"properties": dict.fromkeys(self.keys, False)},
        }


class Needs(Struct, frozen=True):
    """If the condition holds, the key must be present and not an empty list."""

    condition: Condition
    key: str

    @property
    def sentence(self) -> str:
        return f"{self.condition} needs `{self.key}`."

    def check(self, table: Table, reader: Reader, name: str) -> None:
        if not self.condition.holds(table):
            return
        node = table.get(self.key)
        needs = f"{name} with {_quote_condition(self.condition)} needs the key {self.key!r}"
        if node is None:
            reader.wrong(table, needs)
        elif isinstance(node, Items) and not node.nodes:
            reader.wrong(node, f"{needs}, and not an empty list")

    def schema(self) -> Schema:
        # `minItems` has no effect on values that are not lists.
        then: Schema = {"required": [self.key], "properties": {self.key: {"minItems": 1}}}
        return {"if": self.condition.schema(), "then": then}


class OneValueSet(Struct, frozen=True):
    """The allowed values of a key depend on a condition."""

    key: str
    condition: Condition
    then: tuple[str, ...]
    otherwise: tuple[str, ...]

    @property
    def sentence(self) -> str:
        return (
            f"`{self.key}` is {_list_keys(self.then, 'or')} with {self.condition}, "
            f"else {_list_keys(self.otherwise, 'or')}."
        )

    def check(self, table: Table, reader: Reader, name: str) -> None:
        node = table.get(self.key)
        if not isinstance(node, Scalar):
            return
        allowed, forbidden, where = self.then, self.otherwise, "with"
        if not self.condition.holds(table):
            allowed, forbidden, where = forbidden, allowed, "without"
        # A word that neither set has is reported by the kind of the key.
        if node.text in forbidden and node.text not in allowed:
            context = f"{name} {where} {_quote_condition(self.condition)}"
            reader.wrong(node, f"{self.key} is {node.text!r}; in {context} it must be {' | '.join(allowed)}")

    def schema(self) -> Schema:
        def enum_of(values: Sequence[str]) -> Schema:
            return {"properties": {self.key: {"enum": list(values)}}}

        return {"if": self.condition.schema(), "then": enum_of(self.then), "else": enum_of(self.otherwise)}


def _quote_condition(condition: Condition) -> str:
    return str(condition).replace("`", "'")


def _list_keys(keys: Sequence[str], last: str = "and") -> str:
    names = [f"`{key}`" for key in keys]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"
