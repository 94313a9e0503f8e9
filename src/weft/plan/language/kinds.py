"""Kinds of single values: one definition from which a value is read, described and written as JSON Schema.

A kind reads a node as a plain value, or reports what is wrong and returns `BAD`. Its messages use the words of
the reference, and its schema accepts what it reads, so the three cannot contradict each other.
"""

import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from msgspec import Struct

from weft.plan.language.reader import BAD, Reader, Schema, describe, mismatch
from weft.plan.language.slips import (
    boolean_meant,
    dollars_meant,
    duration_meant,
    tokens_meant,
    whole_number_meant,
)
from weft.plan.order.globs import glob_fault
from weft.plan.text.document import Node, Scalar
from weft.plan.text.problems import nearest
from weft.terms import MICRO

MOST_MONEY = 10**9
MOST = 10**18 - 1
"""The largest number that is read, where there is no smaller limit."""
_WHOLE = re.compile(r"[-+]?[0-9]{1,18}")
# The number of digits is limited, because these values are exact and a file must not decide their size.
_DECIMAL = re.compile(r"[-+]?(?:[0-9]{1,18}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][-+]?[0-9]{1,2})?")
_PLAIN_DECIMAL = r"[0-9]{1,9}(?:\.[0-9]{1,9})?"
_RANGE = re.compile(rf"({_PLAIN_DECIMAL})\.\.({_PLAIN_DECIMAL})")
_DURATION = re.compile(rf"({_PLAIN_DECIMAL})(ms|s|m|h|d)")
_DOLLARS = re.compile(r"\$([0-9]{1,9}(?:\.[0-9]{1,6})?)")
_TOKENS = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)([kKMB])")
SECONDS = {
    "ms": Decimal("0.001"),
    "s": Decimal(1),
    "m": Decimal(60),
    "h": Decimal(3600),
    "d": Decimal(86400),
}
"""The units of durations."""
TOKENS = {"B": 10**9, "M": 10**6, "k": 10**3, "K": 10**3}
"""The units of tokens, the largest first."""


class Text(Struct, frozen=True):
    words: str = "text"
    pattern: str | None = None
    """A regular expression for the whole text, in the dialect that Python and JSON Schema share."""
    empty: bool = False
    template: bool = False
    """Whether `{{ … }}` in it is replaced."""

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401
        # `type` instead of `isinstance`, here and in `Record.read`: these two run for every value of a large plan.
        if type(node) is not Scalar:
            return mismatch(self, node, reader, name)
        text = node.text
        if not self.allows(text):
            return mismatch(self, node, reader, name)
        if node.kind() != "text":
            return mismatch(self, node, reader, name, _in_quotes(node))
        # Neither an argument nor an environment variable can contain NUL.
        return mismatch(self, node, reader, name, " without NUL") if "\0" in text else text

    def allows(self, text: str) -> bool:
        if self.pattern is not None:
            return re.fullmatch(self.pattern, text) is not None
        return self.empty or text != ""

    def schema(self) -> Schema:
        schema: Schema = {"type": "string"}
        if self.pattern is not None:
            schema |= {"pattern": f"^(?:{self.pattern})$", "patternErrorMessage": f"Must be {self.words}."}
        elif not self.empty:
            schema["minLength"] = 1
        return schema


class Glob(Struct, frozen=True):
    words: str = "a glob within the repository, such as src/store/**"

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401
        text = Text(self.words).read(node, reader, name)
        fault = glob_fault(text) if isinstance(text, str) else None
        if fault is None:
            return text
        reader.wrong(node, f"{name}: {fault}")
        return BAD

    def schema(self) -> Schema:
        # JSON Schema can only check the segments; the loader checks brackets as well.
        segment = r"(?!\.{1,2}(?:/|$))[^/\\]+"
        return Text(self.words, pattern=f"{segment}(?:/{segment})*/?").schema()


class Word(Struct, frozen=True):
    """Text that may look like a number: a port, a version."""

    words: str = "text or a number"
    template: bool = False

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401
        if not isinstance(node, Scalar):
            return mismatch(self, node, reader, name)
        if node.kind() not in {"text", "a number"}:
            return mismatch(self, node, reader, name, _in_quotes(node))
        return mismatch(self, node, reader, name, " without NUL") if "\0" in node.text else node.text

    def schema(self) -> Schema:
        return {"type": ["string", "number"]}


class Integer(Struct, frozen=True):
    low: int
    high: int | None = None

    @property
    def words(self) -> str:
        if self.high is None:
            return f"a whole number, {self.low} or more"
        if self.high == self.low:
            return str(self.low)
        return f"a whole number from {self.low} to {self.high}"

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401
        if not isinstance(node, Scalar) or not node.plain or not _WHOLE.fullmatch(node.text):
            return mismatch(self, node, reader, name, _meant(node, self._meant))
        number = int(node.text)
        high = MOST if self.high is None else self.high
        return number if self.low <= number <= high else mismatch(self, node, reader, name)

    def _meant(self, text: str) -> str | None:
        return whole_number_meant(text, self.low, MOST if self.high is None else self.high)

    def schema(self) -> Schema:
        if self.high == self.low:
            return {"type": "integer", "const": self.low}
        return {"type": "integer", "minimum": self.low, "maximum": MOST if self.high is None else self.high}


class Money(Struct, frozen=True):
    """Dollars, stored as whole micro-dollars, so that sums are exact."""

    words: str = "an amount of dollars above 0, such as 20 or 0.50"
    least: int = 1

    @classmethod
    def from_zero(cls) -> "Money":
        return cls("an amount of dollars, 0 or more, such as 15 or 0.30", 0)

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401
        text = _number_of_dollars(node)
        if text is None:
            return mismatch(self, node, reader, name, _meant(node, dollars_meant))
        # Not a float: 0.1 dollars have to be exactly 100,000 micro-dollars, or sums drift away from the ceiling.
        micros = Fraction(text) * MICRO
        if micros > MOST_MONEY * MICRO:
            return mismatch(self, node, reader, name, f", and up to {MOST_MONEY:,}")
        # A fraction is exact, so this finds any digit beyond a micro-dollar.
        if micros > 0 and micros.denominator != 1:
            return mismatch(self, node, reader, name, ", with six decimals at most")
        return int(micros) if micros >= self.least else mismatch(self, node, reader, name)

    def schema(self) -> Schema:
        number = {"type": "number", "minimum": self.least / MICRO, "maximum": MOST_MONEY}
        return {"anyOf": [number, _matching(_DOLLARS, f"Must be {self.words}.", above_zero=self.least > 0)]}


def _number_of_dollars(node: Node) -> str | None:
    """Returns the digits of an amount. With a dollar sign it is text, also to YAML."""
    if not isinstance(node, Scalar):
        return None
    signed = _DOLLARS.fullmatch(node.text)
    if signed is not None:
        return signed[1]
    return node.text if node.plain and _DECIMAL.fullmatch(node.text) else None


class Tokens(Struct, frozen=True):
    """A whole number, possibly in thousands, millions or billions."""

    words: str = "a number of tokens above 0, such as 200000, 500k or 5M"

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401
        if not isinstance(node, Scalar):
            return mismatch(self, node, reader, name)
        match = _TOKENS.fullmatch(node.text)
        if match is not None:
            number = int(Decimal(match[1]) * TOKENS[match[2]])
        elif node.plain and _WHOLE.fullmatch(node.text):
            number = int(node.text)
        else:
            return mismatch(self, node, reader, name, _meant(node, tokens_meant))
        return number if number > 0 else mismatch(self, node, reader, name)

    def schema(self) -> Schema:
        number = {"type": "integer", "minimum": 1, "maximum": MOST}
        return {"anyOf": [number, _matching(_TOKENS, f"Must be {self.words}.", above_zero=True)]}


class Share(Struct, frozen=True):
    words: str = "a number from 0 to 1"

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401
        if not isinstance(node, Scalar) or not node.plain or not _DECIMAL.fullmatch(node.text):
            return mismatch(self, node, reader, name)
        share = float(node.text)
        return share if 0 <= share <= 1 else mismatch(self, node, reader, name)

    def schema(self) -> Schema:
        return {"type": "number", "minimum": 0, "maximum": 1}


class Span(Struct, frozen=True):
    """A number, or two with `..` between them: `10`, `5..20`."""

    words: str = "a number, 0 or more, or a range such as 5..20"

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401
        text = node.text if isinstance(node, Scalar) else ""
        match = _RANGE.fullmatch(text)
        if match is not None:
            low, high = float(match[1]), float(match[2])
            if low > high:
                reader.wrong(
                    node,
                    f"{name} is {describe(node)}: the order is wrong; the smaller number comes first, as in"
                    f" {match[2]}..{match[1]}",
                )
                return BAD
        elif isinstance(node, Scalar) and node.plain and _DECIMAL.fullmatch(text):
            low = high = float(text)
        else:
            return mismatch(self, node, reader, name)
        return (low, high) if 0 <= low <= high <= MOST else mismatch(self, node, reader, name)

    def schema(self) -> Schema:
        number = {"type": "number", "minimum": 0, "maximum": MOST}
        return {"anyOf": [number, _matching(_RANGE, "Must be a range such as 5..20.")]}


class Boolean(Struct, frozen=True):
    words: str = "true or false"

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401
        if isinstance(node, Scalar) and node.kind() == "a boolean":
            return node.text[0] in "tT"
        return mismatch(self, node, reader, name, _meant(node, boolean_meant))

    def schema(self) -> Schema:
        return {"type": "boolean"}


class RemoteName(Struct, frozen=True):
    """The name of a git remote; or true or false."""

    words: str = "true, false, or the name of a git remote"
    pattern: str = r"[A-Za-z0-9_][A-Za-z0-9_.@:/+~-]*"

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401
        if isinstance(node, Scalar) and node.kind() == "a boolean":
            return node.text[0] in "tT"
        if isinstance(node, Scalar) and node.kind() == "text" and re.fullmatch(self.pattern, node.text):
            return node.text
        return mismatch(self, node, reader, name)

    def schema(self) -> Schema:
        text: Schema = {"type": "string", "pattern": f"^(?:{self.pattern})$"}
        return {"anyOf": [{"type": "boolean"}, text]}


class Choice(Struct, frozen=True):
    values: tuple[str, ...]

    @property
    def words(self) -> str:
        return " | ".join(self.values)

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401
        if isinstance(node, Scalar) and node.text in self.values:
            return node.text
        # Searching for a similar word is slow, and a full reader drops the message.
        near = nearest(node.text, self.values) if isinstance(node, Scalar) and not reader.full else None
        return mismatch(self, node, reader, name, f"; did you mean {near!r}?" if near else "")

    def schema(self) -> Schema:
        return {"enum": list(self.values)}


class Switch(Struct, frozen=True):
    """A boolean, or the text `auto`."""

    words: str = "auto, true or false"

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401
        if isinstance(node, Scalar) and node.text == "auto":
            return node.text
        if isinstance(node, Scalar) and node.kind() == "a boolean":
            return node.text[0] in "tT"
        return mismatch(self, node, reader, name, _meant(node, boolean_meant))

    def schema(self) -> Schema:
        return {"enum": ["auto", True, False]}


class Duration(Struct, frozen=True):
    """A duration, read as seconds."""

    words: str = "a duration such as 90s, 30m or 2h"

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401
        match = _DURATION.fullmatch(node.text) if isinstance(node, Scalar) else None
        if match is None:
            bare = isinstance(node, Scalar) and re.fullmatch(_PLAIN_DECIMAL, node.text)
            hint = f"; did you mean {bare[0]}s?" if bare else _meant(node, duration_meant)
            return mismatch(self, node, reader, name, hint)
        seconds = float(Decimal(match[1]) * SECONDS[match[2]])
        return seconds if seconds > 0 else mismatch(self, node, reader, name)

    def schema(self) -> Schema:
        return _matching(_DURATION, f"Must be {self.words}.", above_zero=True)


def _matching(pattern: re.Pattern[str], message: str, *, above_zero: bool = False) -> Schema:
    digits = "(?=.*[1-9])" if above_zero else ""
    return {"type": "string", "pattern": f"^{digits}{pattern.pattern}$", "patternErrorMessage": message}


def _meant(node: Node, guess: Callable[[str], str | None]) -> str:
    """Returns the end of a message about a value that is almost right."""
    corrected = guess(node.text) if isinstance(node, Scalar) else None
    if corrected is None or not isinstance(node, Scalar):
        return ""
    if corrected != node.text:
        return f"; did you mean {corrected}?"
    return "" if node.plain else f"; did you mean {corrected}, without quotes?"


def _in_quotes(node: Scalar) -> str:
    """Returns advice for a number or another word that is meant as text."""
    return f"; to write text, use quotes: '{node.text}'" if node.text else ""
