"""The subplans of a run as rows of a table: an outline, with further columns for the dispatcher."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from msgspec import field

from weft.errors import SubplanTreeError
from weft.ids import SubplanPath
from weft.plan.order.outline import ROOT, Outline
from weft.subplans.model import (
    AnySubplan,
    FailureMode,
    ParallelExecutionConfig,
    Policy,
    Subplan,
    SubplanGroup,
    Work,
    check_many,
    checked,
    checked_depends_on,
)

__all__ = ["ROOT", "SubplanTree", "read_tree"]


class SubplanTree(Outline, kw_only=True):
    """An outline with further columns. Row 0 is the root, with the path `""`."""

    works: list[Work | None] = field(default_factory=list[Work | None])
    """The work of a leaf; None for a group."""
    estimates: list[float] = field(default_factory=list[float])
    caps: list[int | None] = field(default_factory=list[int | None])
    """A group's own limit on the leaves that run inside it at once."""
    modes: list[FailureMode] = field(default_factory=list[FailureMode])
    policies: list[Policy] = field(default_factory=list[Policy])


def read_tree(subplans: Iterable[AnySubplan], config: ParallelExecutionConfig) -> SubplanTree:
    """Returns the table of these subplans. Raises `SubplanTreeError` or `ConfigError` if they are invalid."""
    tree = SubplanTree()
    names = _add_rows(tree, subplans, config)
    _resolve_dependencies(tree, names)
    return tree


def _add_rows(
    tree: SubplanTree, subplans: Iterable[AnySubplan], config: ParallelExecutionConfig
) -> list[tuple[str, ...]]:
    check_many(subplans, "the subplans")
    names: list[tuple[str, ...]] = []
    _add_row(tree, SubplanPath(""), -1, None)
    _add_settings(tree, config.max_parallel, config.failure_mode, config.policy)
    names.append(())
    # A stack instead of recursion, so that the interpreter does not limit the depth of a tree.
    stack = [(ROOT, enumerate(subplans, 1), set[str]())]
    while stack:
        parent, children, used_ids = stack[-1]
        position, child = next(children, (0, None))
        if not position:
            stack.pop()
            tree.close(parent)
            continue
        around = tree.paths[parent]
        subplan = checked(child, position, around)
        path = SubplanPath(f"{around}/{subplan.id}" if around else subplan.id)
        if subplan.id in used_ids:
            raise SubplanTreeError(f"{path}: two subplans here have the id {subplan.id!r}; ids must differ")
        used_ids.add(subplan.id)
        row = _add_row(tree, path, parent, subplan if isinstance(subplan, Subplan) else None)
        names.append(checked_depends_on(subplan, path))
        if isinstance(subplan, SubplanGroup):
            _add_group_settings(tree, parent, subplan)
            stack.append((row, enumerate(subplan.subplans, 1), set()))
        else:
            _add_settings(tree, None, tree.modes[parent], tree.policies[parent])
    return names


def _add_row(tree: SubplanTree, path: SubplanPath, parent: int, leaf: Subplan | None) -> int:
    tree.works.append(leaf.work if leaf else None)
    tree.estimates.append(leaf.estimate if leaf else 0)
    return tree.add(path, parent, leaf=leaf is not None)


def _add_settings(tree: SubplanTree, cap: int | None, mode: FailureMode, policy: Policy) -> None:
    tree.caps.append(1 if policy is Policy.SERIAL and cap is not None else cap)
    tree.modes.append(mode)
    tree.policies.append(policy)


def _add_group_settings(tree: SubplanTree, parent: int, group: SubplanGroup) -> None:
    mode = tree.modes[parent] if group.failure_mode is None else FailureMode(group.failure_mode)
    policy = tree.policies[parent] if group.policy is None else Policy(group.policy)
    cap = group.max_parallel
    # A serial group inside a serial one needs no slot of its own: the outer one lets a single leaf run already.
    if cap is None and policy is Policy.SERIAL and tree.policies[parent] is not Policy.SERIAL:
        cap = 1
    _add_settings(tree, cap, mode, policy)


def _resolve_dependencies(tree: SubplanTree, names: list[tuple[str, ...]]) -> None:
    if not any(names):
        return
    rows = {path: row for row, path in enumerate(tree.paths)}
    for row, dependencies in enumerate(names):
        if dependencies:
            tree.depends_on[row] = tuple(dict.fromkeys(_find(tree, rows, row, name) for name in dependencies))


def _find(tree: SubplanTree, rows: dict[SubplanPath, int], row: int, name: str) -> int:
    around = tree.paths[tree.parents[row]]
    path = name[1:] if name.startswith("/") else f"{around}/{name}" if around else name
    target = rows.get(SubplanPath(path)) if path else None
    if target is None:
        siblings = [tree.paths[child].rpartition("/")[2] for child in tree.children(tree.parents[row])]
        near = get_close_matches(name, siblings, 1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; known here: {_some(siblings)}"
        raise SubplanTreeError(f"{tree.paths[row]}: depends_on names {name!r}, which does not exist{hint}")
    if target == row:
        raise SubplanTreeError(f"{tree.paths[row]}: depends on itself")
    if row in tree.below(target) or target in tree.below(row):
        raise SubplanTreeError(
            f"{tree.paths[row]}: depends on {tree.paths[target]!r}, which contains it or is contained in it"
        )
    return target


def _some(names: Sequence[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")
