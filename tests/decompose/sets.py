"""Sets of files for tests: written down, and drawn by lot."""

import re
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
    )
