"""The work of `weft graph`: draws a plan or its net."""

import os
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import assert_never

from weft.app.project.files import InputSource
from weft.app.project.plans import load
from weft.errors import InputError
from weft.garbage import without_gc
from weft.net.formats import write_pnml
from weft.net.model import Net
from weft.net.plain import unfold
from weft.plan.compile.compile import compile_plan
from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.display.explain import WHOLE, find_row
from weft.plan.hosts import LOCAL
from weft.plan.model import Plan
from weft.plan.order.outline import ROOT
from weft.plan.pictures import (
    Picture,
    PictureRow,
    TooLargeToDrawError,
    dependency_picture,
    fold_rows,
    net_picture,
    picture_to_dot,
    picture_to_mermaid,
    picture_to_svg,
    tree_picture,
)
from weft.plan.placement import slice_hosts

MOST_NODES = 400
"""The largest net that is drawn for people. Formats for other programs have no limit."""


class PictureSubject(StrEnum):
    """The subject of the picture: the tree, the dependencies, or the net."""

    TREE = "tree"
    DEPS = "deps"
    NET = "net"


class Format(StrEnum):
    """The format of the picture."""

    MERMAID = "mermaid"
    DOT = "dot"
    SVG = "svg"
    PNML = "pnml"


def graph(
    source: InputSource,
    subject: PictureSubject,
    as_format: Format,
    *,
    of: str | None = None,
    full: bool = False,
    environ: Mapping[str, str] = os.environ,
) -> str:
    """Returns the picture as text. `of` restricts a net to the part of one subplan."""
    with without_gc():
        compiled = compile_plan(load(source, environ=environ))
        if subject is PictureSubject.NET:
            return _net(compiled, as_format, of)
        rows = picture_rows(compiled)
        rows = rows if full else fold_rows(rows)
        draw = tree_picture if subject is PictureSubject.TREE else dependency_picture
        return _text(draw(rows, title=compiled.plan.id), as_format)


def picture_rows(
    compiled: CompiledPlan, group: int = ROOT, part: range | None = None
) -> tuple[PictureRow, ...]:
    """Returns the rows of a group, itself first. `part`: the rows below it that are wanted, whole subplans."""
    outline = compiled.plan.outline
    chosen = [group, *(outline.below(group) if part is None else part)]
    numbers = {row: number for number, row in enumerate(chosen)}

    def within(rows: Iterable[int]) -> tuple[int, ...]:
        return tuple(numbers[row] for row in rows if row in numbers)

    return tuple(
        PictureRow(
            path=outline.paths[row],
            title=compiled.plan.subplans[row].title,
            parent=-1 if row == group else numbers[outline.parents[row]],
            is_leaf=outline.is_leaf(row),
            # What the group itself waits for is outside of the picture.
            depends_on=() if row == group else within(outline.depends_on[row]),
            after=() if row == group else within(compiled.after[row]),
            span=(row, row),
            note=_hosts(compiled.plan, row) if compiled.plan.hosts and outline.is_leaf(row) else "",
        )
        for row in chosen
    )


def _hosts(plan: Plan, row: int) -> str:
    """Returns where a slice may work, if not only on this machine."""
    hosts = slice_hosts(plan, row)
    return "" if hosts == (LOCAL,) else f"on {' or '.join(hosts)}"


def _net(compiled: CompiledPlan, as_format: Format, of: str | None) -> str:
    title = compiled.plan.id
    if of is not None and of != WHOLE:
        row = find_row(compiled.plan, of)
        title = f"{title}: {compiled.plan.outline.paths[row]}"
        net = _shape(compiled, row)
    else:
        net = compiled.net
    if as_format is Format.PNML:
        return write_pnml(unfold(net), name=title)
    nodes = len(net.place_ids) + len(net.transition_ids)
    # Weft's own layout and Mermaid become unreadable long before Graphviz does.
    if as_format is not Format.DOT and nodes > MOST_NODES:
        raise TooLargeToDrawError(_too_large(compiled, nodes, of))
    return _text(net_picture(net, title=title), as_format)


def _shape(compiled: CompiledPlan, row: int) -> Net:
    number = compiled.shape_of[row]
    if number < 0:
        path = compiled.plan.outline.paths[row]
        raise InputError(f"{path!r} has no net of its own: it completes with its parts")
    return compiled.shapes[number].net


def _too_large(compiled: CompiledPlan, nodes: int, of: str | None) -> str:
    outline = compiled.plan.outline
    problem = f"the net has {nodes:,} places and transitions; more than {MOST_NODES} are not drawn"
    dot = "draw it with Graphviz, with --format dot"
    if of is not None:
        return f"{problem}; {dot}"
    first = next(path for path, leaf in zip(outline.paths, outline.leaves, strict=True) if leaf)
    return f"{problem}; draw that of one subplan, with --of {first}, or {dot}"


def _text(picture: Picture, as_format: Format) -> str:
    match as_format:
        case Format.MERMAID:
            return picture_to_mermaid(picture)
        case Format.DOT:
            return picture_to_dot(picture)
        case Format.SVG:
            return picture_to_svg(picture)
        case Format.PNML:
            raise InputError("PNML holds nets only; draw the net, with --what net")
        case _:
            assert_never(as_format)
