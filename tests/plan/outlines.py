"""Outlines for tests: written down, drawn at random, and their order worked out the slow way."""

from hypothesis import strategies as st

from weft.ids import SubplanPath
from weft.plan.order.outline import Outline

Point = tuple[str, int]
"""`start` or `end` of a row."""


def sketched(*lines: str) -> Outline:
    """Rows as `path` or `path: what it depends on`, all from the root; a group has rows below or is `path/`."""
    outline = Outline()
    outline.add(SubplanPath(""), -1, leaf=False)
    split = [line.replace(":", "").split() for line in lines]
    rows = {words[0].rstrip("/"): number for number, words in enumerate(split, 1)}
    for path, *_ in split:
        parent = rows.get(path.rstrip("/").rpartition("/")[0], 0)
        leaf = not path.endswith("/") and not any(candidate.startswith(f"{path}/") for candidate in rows)
        outline.add(SubplanPath(path.rstrip("/")), parent, leaf=leaf)
    for path, *names in split:
        outline.depends_on[rows[path.rstrip("/")]] = tuple(rows[name] for name in names)
    for row in range(len(outline.paths)):
        outline.sizes[row] = 1 + sum(
            row in around(outline, candidate) for candidate in range(len(outline.paths))
        )
    return outline


def flat(*depends_on: tuple[int, ...]) -> Outline:
    """Leaves in the whole, the first of which is row 1."""
    outline = Outline()
    outline.add(SubplanPath(""), -1, leaf=False)
    for number, before in enumerate(depends_on, 1):
        outline.depends_on[outline.add(SubplanPath(f"s{number}"), 0, leaf=True)] = before
    outline.close(0)
    return outline


def around(outline: Outline, row: int) -> set[int]:
    groups: set[int] = set()
    while (row := outline.parents[row]) >= 0:
        groups.add(row)
    return groups


def related(outline: Outline, first: int, second: int) -> bool:
    """Whether they are the same, or one contains the other."""
    return first == second or first in around(outline, second) or second in around(outline, first)


def order(outline: Outline, after: list[tuple[int, ...]] | None = None) -> set[tuple[Point, Point]]:
    """All pairs of points of which the first comes before the second, by the definition."""
    rows = range(len(outline.paths))
    pairs: set[tuple[Point, Point]] = {(("start", row), ("end", row)) for row in rows}
    for row in rows[1:]:
        pairs.add((("start", outline.parents[row]), ("start", row)))
        pairs.add((("end", row), ("end", outline.parents[row])))
        for earlier in outline.depends_on[row] + (after[row] if after else ()):
            pairs.add((("end", earlier), ("start", row)))
    points = [(moment, row) for moment in ("start", "end") for row in rows]
    for middle in points:
        pairs |= {(a, b) for a in points for b in points if (a, middle) in pairs and (middle, b) in pairs}
    return pairs


def has_circle(precedence: set[tuple[Point, Point]]) -> bool:
    return any(first == second for first, second in precedence)


def apart(precedence: set[tuple[Point, Point]], first: int, second: int) -> bool:
    """Whether one of the two can start only after the other has ended."""
    return (("end", first), ("start", second)) in precedence or (
        ("end", second),
        ("start", first),
    ) in precedence


@st.composite
def trees(draw: st.DrawFn, most: int = 9) -> Outline:
    """Outlines without dependencies."""
    kinds = draw(st.lists(st.sampled_from(["leaf", "leaf", "group", "up"]), max_size=most))
    outline = Outline()
    outline.add(SubplanPath(""), -1, leaf=False)
    stack = [0]
    for number, kind in enumerate(kinds):
        if kind == "up":
            outline.close(stack.pop() if len(stack) > 1 else 0)
            continue
        row = outline.add(SubplanPath(f"{outline.paths[stack[-1]]}/{number}"), stack[-1], leaf=kind == "leaf")
        if kind == "group":
            stack.append(row)
    for group in reversed(stack):
        outline.close(group)
    return outline


@st.composite
def tangles(draw: st.DrawFn, most: int = 9) -> Outline:
    """Outlines with any dependencies between rows of which neither contains the other; often a circle."""
    outline = draw(trees(most))
    rows = range(1, len(outline.paths))
    for row in rows:
        others = [candidate for candidate in rows if not related(outline, row, candidate)]
        if others:
            outline.depends_on[row] = tuple(draw(st.lists(st.sampled_from(others), max_size=2, unique=True)))
    return outline


def plans(most: int = 9) -> st.SearchStrategy[Outline]:
    """Outlines without circles."""
    return tangles(most).map(_straightened)


def _straightened(outline: Outline) -> Outline:
    """Gives up each dependency that makes a circle with those before."""
    proposed = list(outline.depends_on)
    outline.depends_on = [()] * len(proposed)
    for row, before in enumerate(proposed):
        for earlier in before:
            if (("start", row), ("end", earlier)) not in order(outline):
                outline.depends_on[row] += (earlier,)
    return outline
