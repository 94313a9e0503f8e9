"""Plans to draw: written by hand in a few letters, or random."""

from collections.abc import Mapping, Sequence

from hypothesis import strategies as st

from weft.plan.pictures import PictureRow


def plan(*paths: str, needs: Mapping[str, Sequence[str]] | None = None) -> list[PictureRow]:
    """The plan of these paths in plan order; whoever has something below it is a group."""
    needs = needs or {}
    numbers = {path: number for number, path in enumerate(("", *paths))}
    groups = {path.rpartition("/")[0] for path in paths}
    return [
        PictureRow(
            path=path,
            title=path.upper(),
            parent=numbers[path.rpartition("/")[0]] if path else -1,
            is_leaf=path not in groups,
            depends_on=tuple(numbers[candidate] for candidate in needs.get(path, ())),
        )
        for path in numbers
    ]


def ancestors(rows: Sequence[PictureRow], number: int) -> set[int]:
    """The row itself and all that it is in."""
    groups = set[int]()
    while number >= 0:
        groups.add(number)
        number = rows[number].parent
    return groups


def nested(rows: Sequence[PictureRow], a: int, b: int) -> bool:
    return a in ancestors(rows, b) or b in ancestors(rows, a)


@st.composite
def plans(draw: st.DrawFn, *, most: int = 14, circles: bool = False) -> list[PictureRow]:
    """Any plan of some rows; without circles, a row depends on earlier ones only."""
    parents = [-1]
    open_groups = [0]
    for number in range(1, draw(st.integers(2, most))):
        del open_groups[draw(st.integers(1, len(open_groups))) :]
        parents.append(open_groups[-1])
        open_groups.append(number)
    rows = [PictureRow(path=f"r{n}", parent=p, is_leaf=n not in parents) for n, p in enumerate(parents)]
    numbers = range(1, len(rows))
    pairs = [(a, b) for a in numbers for b in numbers if (a < b or circles) and not nested(rows, a, b)]
    chosen = draw(st.lists(st.sampled_from(pairs), max_size=most, unique=True)) if pairs else []
    kinds = draw(st.lists(st.booleans(), min_size=len(chosen), max_size=len(chosen)))
    return [
        PictureRow(
            path=row.path,
            title=f"Title {number}",
            parent=row.parent,
            is_leaf=row.is_leaf,
            depends_on=tuple(a for (a, b), hard in zip(chosen, kinds, strict=True) if b == number and hard),
            after=tuple(a for (a, b), hard in zip(chosen, kinds, strict=True) if b == number and not hard),
        )
        for number, row in enumerate(rows)
    ]


def comes_after(rows: Sequence[PictureRow]) -> set[tuple[int, int]]:
    """Every pair of slices of which the second cannot begin before the first has ended."""
    leaves = [number for number, row in enumerate(rows) if row.is_leaf]
    direct = {
        leaf: {
            candidate
            for above in ancestors(rows, leaf)
            for named in (*rows[above].depends_on, *rows[above].after)
            for candidate in leaves
            if named in ancestors(rows, candidate)
        }
        for leaf in leaves
    }
    pairs = set[tuple[int, int]]()
    for leaf in leaves:
        waiting = list(direct[leaf])
        while waiting:
            earlier = waiting.pop()
            if (earlier, leaf) not in pairs:
                pairs.add((earlier, leaf))
                waiting += direct[earlier]
    return pairs
