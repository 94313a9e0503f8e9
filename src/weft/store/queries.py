"""The SQL of the journal: it stands in files of its own, read once."""

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

_FOLDER = Path(__file__).with_name("sql")
_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


def _named_queries() -> dict[str, str]:
    _, *parts = _NAME.split((_FOLDER / "queries.sql").read_text(encoding="utf-8"))
    texts = (_without_comments(text) for text in parts[1::2])
    return dict(zip(parts[::2], texts, strict=True))


def _without_comments(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if line and not line.startswith("--"))


QUERIES = _named_queries()
"""By name."""
MIGRATIONS = sorted(_FOLDER.glob("[0-9]*.sql"))
"""The n-th makes a database of version n from one of version n - 1."""


def statements(script: Path) -> Iterator[str]:
    """One by one: what `executescript` would run could not be part of a larger transaction."""
    statement = ""
    for line in script.read_text(encoding="utf-8").splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
