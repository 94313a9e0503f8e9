"""Random small histories, in which much can clash: files are changed, moved, removed, and of several kinds."""

from collections.abc import Mapping

from hypothesis import strategies as st

from weft.workspaces.git.base.program import Git
from workspaces.git.repositories import Made, grow

Tree = dict[str, Made]
Edit = tuple[str, str, str]
History = list[tuple[list[int], list[Edit]]]

PATHS = ("a", "b", "d", "d/x", "d/y", "e/x", "e/f/x")
TEXTS = [
    "".join(f"{letter}{changed if number == line else number}\n" for number in range(6))
    for letter in "pq"
    for changed in ("one", "other")
    for line in (0, 2, 5)
]


_paths = st.sampled_from(PATHS)
_edits = st.one_of(
    st.tuples(st.just("write"), _paths, st.sampled_from(TEXTS)),
    st.tuples(st.sampled_from(["move", "move", "remove", "program", "link", "bytes"]), _paths, _paths),
)


def branches(count: int) -> st.SearchStrategy[History]:
    """Commits that all follow on the first one."""
    return st.lists(st.tuples(st.just([0]), st.lists(_edits, max_size=4)), min_size=count, max_size=count)


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Commits after the first one, each with its parents, which may be two, and what is done in it."""
    values: History = []
    for number in range(draw(st.integers(2, 6))):
        parents = draw(st.lists(st.integers(0, number), min_size=1, max_size=2, unique=True))
        values.append((parents, draw(st.lists(_edits, max_size=4))))
    return values


def edited(tree: Tree, edits: list[Edit]) -> Tree:
    """A new file is put in place of the directory, or of the file around it, that may be there."""
    result = dict(tree)
    for deed, path, other in edits:
        old = result.get(path, "none\n")
        match deed:
            case "write":
                put(result, path, other)
            case "remove":
                result.pop(path, None)
            case "move":
                result.pop(path, None)
                put(result, other, old)
            case "program":
                put(result, path, [old] if isinstance(old, str) else old)
            case "link":
                put(result, path, (other,))
            case _:
                put(result, path, b"\0" + other.encode())
    return result


def put(tree: Tree, path: str, made: Made) -> None:
    for other in list(tree):
        if other.startswith(f"{path}/") or path.startswith(f"{other}/"):
            del tree[other]
    tree[path] = made


def grown(git: Git, history: History) -> list[str]:
    """The commits."""
    first: Tree = {"a": TEXTS[0], "d/x": TEXTS[6], "d/y": TEXTS[0] * 2, "keep": "keep\n"}
    trees: list[Mapping[str, Made]] = [first]
    commits = [grow(git, "history", first, "", message="0")]
    for number, (parents, edits) in enumerate(history, 1):
        tree = edited(dict(trees[parents[0]]), edits)
        gone = dict.fromkeys(trees[parents[0]].keys() - tree.keys())
        above = [commits[parent] for parent in parents]
        commits.append(grow(git, "history", {**gone, **tree}, *above, message=str(number)))
        trees.append(tree)
    return commits
