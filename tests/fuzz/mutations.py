"""Damaged and hostile variants of sound files, as a Hypothesis strategy: a failure shrinks to few edits."""

# ruff: noqa: E501 - a table

import json
from collections.abc import Sequence

from hypothesis import strategies as st

TOKENS = (
    *(b"", b"\n", b" ", b"\t", b":", b": ", b"- ", b"[", b"]", b"{", b"}", b",", b'"', b"'", b"|", b">", b"&a", b"*a"),
    *(b"!!python/object:x", b"!t ", b"<<: ", b"? ", b"%YAML 9.9\n", b"---\n", b"...\n", b"# ", b"\\", b"\\u0000"),
    *(b"\\ud83d\\ude80", b"\\ud83d", b"\xff", b"\xed\xa0\xbd", b"\x00", b"\xef\xbb\xbf", "🚀".encode(), b"\r", b"\x1b[2J"),
    *(b"null", b"true", b"~", b"0", b"-1", b"1e999", b"-0.0", b".inf", b".nan", b"NaN", b"1_000", b"0x10", b"12:30:45"),
    *(b"9" * 30, b"9" * 5000, b"2026-11-18", b"{{ x }}", b"{% if %}", b"{{", b"{#", b"$(x)", b"../..", b"/", b"a/b"),
    *(b"<a>", b"</a>", b"<!DOCTYPE x [<!ENTITY e 'e'>]>", b"&e;", b"&#0;", b"<![CDATA[", b"xmlns=", b"id="),
    *(b"[" * 3000, b'{"a":' * 2000, b"- " * 800, b"(" * 500, b"<a>" * 2000),
    *(b"id", b"depends_on", b"subplans", b"steps", b"run", b"prompt", b"verify", b"when", b"repeat", b"output_schema"),
)  # fmt: skip
MOST_EDITS = 5
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
_TEXTS = (
    st.sampled_from(TOKENS) | st.binary(max_size=8) | _VALUES.map(lambda value: json.dumps(value).encode())
)


@st.composite
def mutated(draw: st.DrawFn, corpus: Sequence[bytes]) -> bytes:
    """One of the files with a few edits; seldom any bytes at all."""
    if draw(st.integers(0, 40)) == 0:
        return draw(st.binary(max_size=200))
    data = draw(st.sampled_from(corpus))
    for _ in range(draw(st.integers(1, MOST_EDITS))):
        data = draw(_edited(data, corpus))
    return data


@st.composite
def _edited(draw: st.DrawFn, data: bytes, corpus: Sequence[bytes]) -> bytes:
    start = draw(st.integers(0, len(data)))
    end = min(len(data), start + draw(st.sampled_from([0, 1, 1, 2, 4, 8, 30, 200])))
    match draw(st.sampled_from(["token", "token", "delete", "repeat", "cut", "graft", "word"])):
        case "delete":
            return data[:start] + data[end:]
        case "repeat":
            return data[:end] + data[start:end] * draw(st.sampled_from([1, 2, 50])) + data[end:]
        case "cut":
            return data[:start]
        case "graft":
            other = draw(st.sampled_from(corpus))
            place = draw(st.integers(0, len(other)))
            return data[:start] + other[place : place + 40] + data[end:]
        case "word":  # one word or number of the file becomes something else
            words = _words(data)
            first, last = draw(st.sampled_from(words)) if words else (start, end)
            return data[:first] + draw(_TEXTS) + data[last:]
        case _:
            return data[:start] + draw(_TEXTS) + data[end:]


def _words(data: bytes) -> list[tuple[int, int]]:
    values: list[tuple[int, int]] = []
    start = None
    for at, byte in enumerate(data[:20_000] + b" "):
        is_word = chr(byte).isalnum() or byte in b"._-"
        if is_word and start is None:
            start = at
        elif not is_word and start is not None:
            values.append((start, at))
            start = None
    return values
