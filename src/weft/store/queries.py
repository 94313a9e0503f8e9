"""The SQL of the journal, from files that are read once."""

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
"""The queries by name."""
MIGRATIONS = sorted(_FOLDER.glob("[0-9]*.sql"))
"""The n-th migration turns a database of version n - 1 into one of version n."""


def statements(script: Path) -> Iterator[str]:
    """Yields the statements of a script; `executescript` could not run within a larger transaction."""
    statement = ""
    for line in script.read_text(encoding="utf-8").splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
