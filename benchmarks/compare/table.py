"""Rows with a figure and a bar, and what they say: passed or missed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

RATIO = "x"


class Side(StrEnum):
    AT_LEAST = "≥"
    AT_MOST = "≤"


@dataclass(frozen=True, slots=True)
class Bar:
    side: Side
    value: float
    unit: str

    def passes(self, figure: float) -> bool:
        return figure >= self.value if self.side is Side.AT_LEAST else figure <= self.value

    def __str__(self) -> str:
        return f"{self.side} {written(self.value, self.unit)}"


def at_least(value: float, unit: str = RATIO) -> Bar:
    return Bar(Side.AT_LEAST, value, unit)


def at_most(value: float, unit: str = RATIO) -> Bar:
    return Bar(Side.AT_MOST, value, unit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    name: str
    figure: float
    bar: Bar | None
    """None: for information, it can be neither passed nor missed. The figure is then a ratio."""
    ours: str
    """Our cost per unit, in words."""
    beside: str = ""
    """That of whatever it is compared with."""
    judged: bool = True

    @property
    def passed(self) -> bool | None:
        return self.bar.passes(self.figure) if self.bar and self.judged else None

    @property
    def _unit(self) -> str:
        return self.bar.unit if self.bar else RATIO

    def cells(self) -> tuple[str, ...]:
        said = {True: "pass", False: "MISS", None: ""}[self.passed]
        bar = str(self.bar) if self.bar else ""
        return (self.name, written(self.figure, self._unit), bar, said, self.ours, self.beside)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "figure": self.figure,
            "unit": self._unit,
            "bar": str(self.bar) if self.bar else None,
            "passed": self.passed,
            "ours": self.ours,
            "beside": self.beside,
        }


HEADER = ("comparison", "figure", "bar", "", "ours", "beside")


def written(value: float, unit: str) -> str:
    """Four digits or so; ratios near one with three decimals."""
    decimals = 0 if value >= 1_000 else 1 if value >= 10 else 3 if unit == RATIO and value < 2 else 2
    text = f"{value:,.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if decimals else text
    return f"{text}{unit}" if unit == RATIO else f"{text} {unit}"


def table(rows: Sequence[Row]) -> str:
    cells = [HEADER, *(row.cells() for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(_aligned(line, widths) for line in cells)


def _aligned(cells: Iterable[str], widths: Iterable[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def exit_code(rows: Iterable[Row]) -> int:
    """1 if a bar is missed."""
    return int(any(row.passed is False for row in rows))
