"""Writes plain data as YAML that every loader reads back as the same data.

YAML 1.1 and 1.2 disagree about what a bare word means (`yes`, `012`, `1:30`, `1e3`) and about what ends a line
(NEL, LS, PS). The output stays within what they share: a string is bare only if it starts with a letter and is
not a word with a special meaning in either version; a text of several lines is a literal block if that preserves
each character, and is quoted as in JSON otherwise.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

Plain: TypeAlias = "bool | int | float | str | Sequence[Plain] | Mapping[str, Plain] | None"
Path: TypeAlias = tuple[str | int, ...]

WIDTH = 100
"""A list or a comment is not put on a line if the line would become longer than this."""
_LONGEST_KEY = 1000
"""YAML allows 1,024 characters before the colon of a key that is not marked with `?`."""
_STEP = "  "

_NOT_PRINTABLE = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff"
_ESCAPED = re.compile(f"[{_NOT_PRINTABLE}]")
_UNFIT_FOR_A_LINE = f"[{_NOT_PRINTABLE}\\n\\t]"
_BARE = r"[^\W\d]|/"
_DURATION = r"[0-9]+(?:ms|s|m|h|d)"
_MEANS_MORE = r": | #|[:\s]\Z"
_MEANS_MORE_IN_BRACKETS = r"[\[\]{},:?]"
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null"})
_LONG_KEY_IN_JSON = re.compile(rf'(?<!\\)"(?:[^"\\]|\\.){{{_LONGEST_KEY // 2},}}":')
"""Matches some keys that are not too long: an escape counts once here, but takes two characters."""
_BLANK_OR_ODD_LINE = r"(?m:^[ \t]+$)"


def to_yaml(data: Plain, *, comments: Mapping[Path, str] | None = None) -> str:
    """Returns the data as YAML. A comment is placed at the entry that its path of keys and indices leads to.

    A short comment about a value on one line is put behind it, any other above it; the comment for the path `()`
    comes first.
    """
    writer = _Writer(comments or {})
    writer.above((), "")
    writer.block(data, (), "")
    return "".join(f"{line}\n" for line in writer.lines)


def to_dense_yaml(data: Plain) -> str:
    """Returns the data as YAML for programs: JSON, which is faster to write, where that is valid YAML."""
    text = _escape(json.dumps(data, ensure_ascii=False))
    return to_yaml(data) if _LONG_KEY_IN_JSON.search(text) else text


class _Writer:
    """Collects the lines of the output."""

    def __init__(self, comments: Mapping[Path, str]) -> None:
        self.lines: list[str] = []
        self._comments = comments

    def block(self, data: Plain, path: Path, indent: str) -> None:
        """Adds the lines of a value on its own."""
        short = _on_one_line(data, WIDTH - len(indent))
        if short is not None:
            self.lines.append(indent + short)
        elif isinstance(data, str):
            self.lines.append(indent + _literal_indicator(data))
            self.lines += _literal_lines(data, indent or _STEP)
        elif isinstance(data, Mapping):
            for key, value in data.items():
                self._entry(key, value, (*path, key), indent)
        else:
            assert isinstance(data, Sequence)
            for index, item in enumerate(data):
                self._item(item, (*path, index), indent)

    def _entry(self, key: str, value: Plain, path: Path, indent: str) -> None:
        name = _key(key)
        if len(name) > _LONGEST_KEY:
            self.above(path, indent)
            self.lines.append(f"{indent}? {name}")
            self._with_indicator(":", value, path, indent)
            return
        head = f"{indent}{name}:"
        short = _on_one_line(value, WIDTH - len(head))
        if short is not None:
            self._line(f"{head} {short}", path, indent)
            return
        self.above(path, indent)
        if isinstance(value, str):
            self.lines.append(f"{head} {_literal_indicator(value)}")
            self.lines += _literal_lines(value, indent + _STEP)
        else:
            self.lines.append(head)
            self.block(value, path, indent + _STEP)

    def _item(self, value: Plain, path: Path, indent: str) -> None:
        short = _on_one_line(value, WIDTH - len(indent) - 2)
        if short is not None:
            self._line(f"{indent}- {short}", path, indent)
            return
        self.above(path, indent)
        self._with_indicator("-", value, path, indent)

    def _with_indicator(self, indicator: str, value: Plain, path: Path, indent: str) -> None:
        """Adds the lines of a value, with the indicator before the first line that is not a comment."""
        inner = len(indent) + len(_STEP)
        first = len(self.lines)
        self.block(value, path, indent + _STEP)
        # A comment stays above; the indicator goes to the first line of the value.
        while self.lines[first].startswith("#", inner):
            first += 1
        self.lines[first] = f"{indent}{indicator} {self.lines[first][inner:]}"

    def _line(self, line: str, path: Path, indent: str) -> None:
        comment = self._comment(path)
        if len(comment) == 1 and len(line) + len(comment[0]) + 2 <= WIDTH:
            self.lines.append(f"{line}  {comment[0]}")
            return
        self.above(path, indent)
        self.lines.append(line)

    def above(self, path: Path, indent: str) -> None:
        self.lines += [indent + line for line in self._comment(path)]

    def _comment(self, path: Path) -> list[str]:
        comment = self._comments.get(path)
        if comment is None:
            return []
        lines = [line for line in comment.split("\n") if line.strip()]
        return [f"# {re.sub(_UNFIT_FOR_A_LINE, ' ', line)}".rstrip() for line in lines]


def _on_one_line(data: Plain, room: int) -> str | None:
    """Returns the value as a single line if it fits; None for long lists, mappings and multi-line texts."""
    if isinstance(data, str):
        return None if _fits_a_literal_block(data) else _scalar(data)
    if isinstance(data, Mapping):
        # A mapping is written in lines even if it is short: a person edits those more easily.
        return None if data else "{}"
    if isinstance(data, Sequence):
        return _in_brackets(data, room)
    return _number_or_word(data)


def _in_brackets(items: Sequence[Plain], room: int) -> str | None:
    if not items:
        return "[]"
    parts: list[str] = []
    for item in items:
        if isinstance(item, str):
            parts.append(_scalar(item, in_brackets=True))
        elif isinstance(item, Mapping | Sequence):
            return None
        else:
            parts.append(_number_or_word(item))
    line = f"[{', '.join(parts)}]"
    return line if len(line) <= room else None


def _number_or_word(value: float | bool | None) -> str:  # noqa: FBT001 - true and false are values here
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return _float(value)


def _float(value: float) -> str:
    text = repr(value)
    if text.lstrip("-") in {"inf", "nan"}:
        return text.replace("inf", ".inf").replace("nan", ".nan")
    # YAML 1.1 reads 1e+16 as a string; it requires a dot.
    return text if "." in text else text.replace("e", ".0e")


@lru_cache(maxsize=1024)
def _key(text: str) -> str:
    """Returns a key as YAML. Cached, because the entries of a list have the same few keys."""
    return _scalar(text)


def _scalar(text: str, *, in_brackets: bool = False) -> str:
    return text if _may_be_bare(text, in_brackets=in_brackets) else _quote(text)


def _may_be_bare(text: str, *, in_brackets: bool) -> bool:
    # `30m` starts with a digit, but is text in every version of YAML.
    if re.fullmatch(_DURATION, text):
        return True
    if not re.match(_BARE, text) or text.lower() in _WORDS:
        return False
    if re.search(_UNFIT_FOR_A_LINE, text) or re.search(_MEANS_MORE, text):
        return False
    return not (in_brackets and re.search(_MEANS_MORE_IN_BRACKETS, text))


def _quote(text: str) -> str:
    """Returns the text quoted as in JSON, with escapes for characters that YAML does not accept as they are."""
    return _escape(json.dumps(text, ensure_ascii=False))


def _escape(json_text: str) -> str:
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", json_text)


def _fits_a_literal_block(text: str) -> bool:
    """Returns whether a block preserves each character, and shows them all to a person."""
    inner = text.removesuffix("\n")
    return (
        "\n" in text
        and not inner[:1].isspace()
        and not inner.endswith("\n")
        and inner != ""
        and _ESCAPED.search(text) is None
        and re.search(_BLANK_OR_ODD_LINE, text) is None
    )


def _literal_indicator(text: str) -> str:
    return "|" if text.endswith("\n") else "|-"


def _literal_lines(text: str, indent: str) -> Iterator[str]:
    for line in text.removesuffix("\n").split("\n"):
        yield indent + line if line else ""
