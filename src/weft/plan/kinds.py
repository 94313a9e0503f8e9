"""What a single value may be: one definition from which it is read, described and written as JSON Schema.

A kind reads a node to a plain value, or says what is wrong and gives `BAD`. The words it uses in its messages are
the ones of the reference, and its schema accepts what it reads, so the three cannot tell different stories.
"""

import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from weft.plan.document import Node, Scalar
from weft.plan.problems import nearest
from weft.plan.reader import Reader, Schema, mismatch

MICRO = 1_000_000
WHOLE = re.compile(r"[-+]?[0-9]{1,18}")
_DECIMAL = re.compile(r"[-+]?(?:[0-9]{1,18}(?:\.[0-9]*)?|\.[0-9]+)")
_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]+)?)(ms|s|m|h|d)")
_SECONDS = {
    "ms": Decimal("0.001"),
    "s": Decimal(1),
    "m": Decimal(60),
    "h": Decimal(3600),
    "d": Decimal(86400),
}


@dataclass(frozen=True, slots=True)
class Text:
    words: str = "text"
    pattern: str | None = None
    """A regular expression for the whole of it, in the dialect that Python and JSON Schema share."""
    empty: bool = False
    template: bool = False
    """Whether `{{ … }}` in it is replaced."""
    _compiled: re.Pattern[str] | None = field(init=False, default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_compiled", None if self.pattern is None else re.compile(self.pattern))

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401
        if type(node) is not Scalar:
            return mismatch(self, node, reader, name)
        text = node.text
        if node.kind() != "text":
            hint = f"; for the text write '{text}', in quotes" if text else ""
            return mismatch(self, node, reader, name, hint)
        if self._compiled is not None and not self._compiled.fullmatch(text):
            return mismatch(self, node, reader, name)
        return text if text or self.empty else mismatch(self, node, reader, name)

    def schema(self) -> Schema:
        schema: Schema = {"type": "string"}
        if self.pattern is not None:
            schema["pattern"] = f"^(?:{self.pattern})$"
        elif not self.empty:
            schema["minLength"] = 1
        return schema


@dataclass(frozen=True, slots=True)
class Word:
    """Text that may look like a number: a port, a version."""

    words: str = "text or a number"
    template: bool = False

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401
        if isinstance(node, Scalar) and node.kind() in {"text", "a number"}:
            return node.text
        return mismatch(self, node, reader, name)

    def schema(self) -> Schema:
        return {"type": ["string", "number"]}


@dataclass(frozen=True, slots=True)
class Integer:
    low: int
    high: int | None = None

    @property
    def words(self) -> str:
        if self.high is None:
            return f"a whole number from {self.low} on"
        return f"a whole number from {self.low} to {self.high}"

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401
        if not isinstance(node, Scalar) or not node.plain or not WHOLE.fullmatch(node.text):
            return mismatch(self, node, reader, name)
        number = int(node.text)
        if number < self.low or (self.high is not None and number > self.high):
            return mismatch(self, node, reader, name)
        return number

    def schema(self) -> Schema:
        schema: Schema = {"type": "integer", "minimum": self.low}
        return schema if self.high is None else schema | {"maximum": self.high}


@dataclass(frozen=True, slots=True)
class Money:
    """Dollars, kept as whole micro-dollars: sums of them are exact."""

    words: str = "an amount of dollars above 0, as 20 or 0.50"

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401
        if not isinstance(node, Scalar) or not node.plain or not _DECIMAL.fullmatch(node.text):
            return mismatch(self, node, reader, name)
        micros = Decimal(node.text) * MICRO
        if micros < 1 or micros > 10**15 or micros != micros.to_integral_value():
            return mismatch(self, node, reader, name)
        return int(micros)

    def schema(self) -> Schema:
        return {"type": "number", "exclusiveMinimum": 0, "maximum": 10**9}


@dataclass(frozen=True, slots=True)
class Share:
    words: str = "a number from 0 to 1"

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401
        if not isinstance(node, Scalar) or not node.plain or not _DECIMAL.fullmatch(node.text):
            return mismatch(self, node, reader, name)
        share = float(node.text)
        return share if 0 <= share <= 1 else mismatch(self, node, reader, name)

    def schema(self) -> Schema:
        return {"type": "number", "minimum": 0, "maximum": 1}


@dataclass(frozen=True, slots=True)
class Span:
    """A number, or two with `..` between them: `10`, `5..20`."""

    words: str = "a number, or a range such as 5..20"

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401
        parts = node.text.split("..") if isinstance(node, Scalar) and node.plain else []
        if len(parts) not in {1, 2} or not all(map(_DECIMAL.fullmatch, parts)):
            return mismatch(self, node, reader, name)
        low, high = float(parts[0]), float(parts[-1])
        return (low, high) if 0 <= low <= high else mismatch(self, node, reader, name)

    def schema(self) -> Schema:
        ranges = {"type": "string", "pattern": r"^[0-9]+(?:\.[0-9]+)?\.\.[0-9]+(?:\.[0-9]+)?$"}
        return {"anyOf": [{"type": "number", "minimum": 0}, ranges]}


@dataclass(frozen=True, slots=True)
class Boolean:
    words: str = "true or false"

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401
        if isinstance(node, Scalar) and node.kind() == "a boolean":
            return node.text[0] in "tT"
        return mismatch(self, node, reader, name)

    def schema(self) -> Schema:
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class Choice:
    values: tuple[str, ...]

    @property
    def words(self) -> str:
        return " | ".join(self.values)

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401
        if isinstance(node, Scalar) and node.text in self.values:
            return node.text
        near = nearest(node.text, self.values) if isinstance(node, Scalar) else None
        return mismatch(self, node, reader, name, f"; did you mean {near!r}?" if near else "")

    def schema(self) -> Schema:
        return {"enum": list(self.values)}


@dataclass(frozen=True, slots=True)
class Duration:
    """Seconds, as a number."""

    words: str = "a duration such as 90s, 30m or 2h"

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401
        match = _DURATION.fullmatch(node.text) if isinstance(node, Scalar) else None
        if match is None:
            return mismatch(self, node, reader, name)
        seconds = float(Decimal(match[1]) * _SECONDS[match[2]])
        return seconds if seconds > 0 else mismatch(self, node, reader, name)

    def schema(self) -> Schema:
        return {"type": "string", "pattern": r"^(?=.*[1-9])[0-9]+(?:\.[0-9]+)?(?:ms|s|m|h|d)$"}
