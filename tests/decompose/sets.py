"""Sets of files for tests: written down, and drawn by lot."""

import re
from collections.abc import Iterator, Mapping
from itertools import product

from hypothesis import strategies as st

from weft.decompose.model import Limits, Part, Signals

VALID_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


def files(*paths: str, tokens: int = 100, uses: tuple[tuple[str, str], ...] = ()) -> Signals:
    ordered = tuple(sorted(paths))
    return Signals(
        paths=ordered,
        tokens=(tokens,) * len(ordered),
        uses=tuple(sorted((ordered.index(user), ordered.index(used)) for user, used in uses)),
    )


def deep_tree(*, folders: int, levels: int, in_each: int) -> Signals:
    return files(
        *(
            f"{'/'.join(f'd{number}' for number in way)}/f{file}.py"
            for way in product(range(folders), repeat=levels)
            for file in range(in_each)
        )
    )


def everyone_uses_everyone(number: int) -> Signals:
    return Signals(
        paths=tuple(f"flat/f{file:03}.py" for file in range(number)),
        tokens=(100,) * number,
        uses=tuple((user, used) for user in range(number) for used in range(number) if user != used),
    )


def all_parts(part: Part) -> list[Part]:
    return [part, *(below for child in part.parts for below in all_parts(child))]


NAMES = st.text(alphabet="aB0_-. \n[é\udc80", min_size=1, max_size=4).filter(
    lambda name: name.strip(".") != ""
)
LIMITS = st.builds(
    Limits,
    max_depth=st.integers(1, 6),
    min_files_per_subplan=st.integers(1, 3),
    max_files_per_subplan=st.integers(3, 8),
    max_tokens_per_subplan=st.integers(500, 5000),
)


@st.composite
def signals(draw: st.DrawFn, *, most: int = 60) -> Signals:
    """Any set of files in any folders, with any links."""
    ways = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
    paths = tuple(sorted(draw(st.lists(ways, min_size=1, max_size=most, unique=True))))
    number = st.integers(0, len(paths) - 1)
    pairs = st.lists(st.tuples(number, number), max_size=2 * most, unique=True)
    uses = sorted((user, used) for user, used in draw(pairs) if user != used)
    together = sorted((first, second) for first, second in draw(pairs) if first < second)
    return Signals(
        paths=paths,
        tokens=tuple(draw(st.lists(st.integers(0, 2000), min_size=len(paths), max_size=len(paths)))),
        uses=tuple(uses),
        together=tuple((*pair, draw(st.integers(1, 2000))) for pair in together),
        attachments=tuple(sorted(draw(st.sets(number, max_size=len(paths) - 1)))),
    )


def leaf_waits(whole: Part) -> dict[int, set[int]]:
    """For each leaf, by number, those that it depends on, or a group around it does."""
    leaves = {id(leaf): number for number, leaf in enumerate(whole.leaves())}
    parts = dict(_by_path("", whole))
    earlier_leaves = dict[int, set[int]]()
    for path, part in parts.items():
        around = path.rpartition("/")[0]
        others = [parts[name if name.startswith("/") else f"{around}/{name}"] for name in part.depends_on]
        for leaf in part.leaves():
            earlier_leaves.setdefault(leaves[id(leaf)], set()).update(
                leaves[id(item)] for dependency in others for item in dependency.leaves()
            )
    return earlier_leaves


def _by_path(path: str, part: Part) -> Iterator[tuple[str, Part]]:
    yield path, part
    for child in part.parts:
        yield from _by_path(f"{path}/{child.id}", child)


def reached(links: Mapping[int, set[int]], start: int) -> set[int]:
    reached_files, to_go = set[int](), [start]
    while to_go:
        new = links[to_go.pop()] - reached_files
        reached_files |= new
        to_go += new
    return reached_files
