"""Sections of text: sentences with a label at the left, and short lists."""

from collections.abc import Iterable, Iterator, Sequence

from weft.cli.terminal import Paragraph

LABEL = 10
"""Columns for the label at the left."""
NAMES = 4
ROWS, MORE_ROWS = 5, 50
"""Lines of a list, without and with `--verbose`."""
COLUMN = 40
"""The widest that a column of a list gets before the next one moves aside."""


def section(label: str, sentences: Iterable[str]) -> Iterator[str]:
    """Yields the sentences, the first with the label.

    Further lines of a long sentence are indented below its start.
    """
    for sentence in filter(str.strip, sentences):
        inset = len(sentence) - len(sentence.lstrip())
        # Further lines start below the text and not below the label, so that the labels can be skimmed.
        yield Paragraph(f"{label:<{LABEL}}{sentence}", hang=LABEL + inset + 2)
        label = ""


def table(rows: Sequence[tuple[str, ...]], *, verbose: bool) -> Iterator[str]:
    shown = rows[: MORE_ROWS if verbose else ROWS]
    widths = [min(COLUMN, max(map(len, column))) for column in zip(*shown, strict=True)]
    for row in shown:
        cells = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)]
        yield f"  {'  '.join(cells).rstrip()}"
    yield from more(len(rows) - len(shown))


def more(number: int) -> Iterator[str]:
    if number > 0:
        yield f"  … and {number:,} more."


def few(names: Sequence[str], most: int = NAMES) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} … and {len(names) - most:,} more"


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
