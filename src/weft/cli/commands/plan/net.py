"""`weft net`: analyses a Petri net in a file. Commands import slow modules themselves, to keep start-up fast."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

import click

from weft.cli.effects import CommandEffect, WeftGroup
from weft.cli.output import examples, note, progress_on_terminal, show_json, show_lines, write_text

EXIT_PROVED, EXIT_REFUTED, EXIT_UNKNOWN = 0, 1, 4
# A limit that was met is neither yes nor no, and a script must not take it for either.
_EXIT = {"proved": EXIT_PROVED, "refuted": EXIT_REFUTED, "unknown": EXIT_UNKNOWN}

TARGETS = ("pnml", "dot", "mermaid", "json")
_ENDINGS = {".pnml": "pnml", ".xml": "pnml", ".dot": "dot", ".gv": "dot", ".mmd": "mermaid", ".json": "json"}

_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_SIZE = re.compile(r"([0-9]{1,18})([KMGT]?)(?:i?B)?", re.IGNORECASE)


def size(_context: click.Context, _option: click.Parameter, value: str) -> int:
    """Bytes, with or without a unit: 512M is 512 · 2²⁰."""
    match = _SIZE.fullmatch(value)
    if match is None or not int(match[1]):
        raise click.BadParameter(f"{value!r} is not a size; give bytes above 0, or a number with K, M or G.")
    return int(match[1]) << _UNITS[match[2].upper()]


class NetReport(Protocol):
    def to_json(self) -> dict[str, object]: ...


file_argument = click.argument("file", type=click.Path(allow_dash=True))
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON for programs instead of sentences."
)


def directory() -> Path:
    """Returns the directory that file names are relative to: `-C` of the root command."""
    return Path(click.get_current_context().find_root().params["directory"])


def show(report: NetReport, lines: Iterable[str], *, as_json: bool) -> None:
    if as_json:
        show_json(report.to_json())
    else:
        show_lines(lines)


@click.group(cls=WeftGroup, epilog=examples("weft net explore philosophers.pnml"))
def net() -> None:
    """Answer questions about a Petri net in a file.

    FILE is a place/transition net in PNML (.pnml or .xml), or a net of Weft in JSON (.json), which is unfolded
    to a plain one for analysis. The file - is standard input.
    """


@net.command(
    effect=CommandEffect.READS,
    epilog=examples("weft net explore philosophers.pnml --find-deadlock"),
    short_help="Count the reachable states and look for deadlocks.",
)
@file_argument
@json_option
@click.option(
    "--find-deadlock",
    is_flag=True,
    help="Print the shortest firing sequence to a deadlock; exit 1 if there is no deadlock, 4 if unknown.",
)
@click.option(
    "--max-states",
    type=click.IntRange(min=1),
    metavar="N",
    default=10_000_000,
    help="Stop after N states [10000000].",
)
@click.option(
    "--max-memory", callback=size, metavar="SIZE", default="2G", help="Stop at this memory, as 512M [2G]."
)
@click.option("--no-numpy", is_flag=True, help="Do not use numpy. Large nets are much slower without it.")
def explore(
    *, file: str, as_json: bool, find_deadlock: bool, max_states: int, max_memory: int, no_numpy: bool
) -> int:
    """Visit all states that the net in FILE can reach, and report their properties.

    It reports how many states and edges there are, whether the net can deadlock and how, how many tokens come
    together, and which transitions can never fire. A search that meets a limit reports that it is not complete.

    Exit code with --find-deadlock: 0 if the net can deadlock, 1 if it cannot, 4 if that is unknown because the
    search met a limit first. Without it, 0 for each search that ran. 2 if FILE cannot be read.
    """
    from weft.app.inspect import nets
    from weft.app.project.files import InputSource
    from weft.cli.text.net import explore_lines

    # The search can take minutes; without a terminal there is no progress line.
    with progress_on_terminal() as progress:
        report = nets.explore_net(
            InputSource(name=file, directory=directory()),
            with_trace=find_deadlock,
            max_states=max_states,
            max_bytes=max_memory,
            use_numpy=False if no_numpy else None,
            progress=progress,
        )
    show(report, explore_lines(report), as_json=as_json)
    return _EXIT[report.deadlock] if find_deadlock else 0


@net.command(
    effect=CommandEffect.READS,
    epilog=examples("weft net check orders.pnml && echo sound"),
    short_help="Decide whether a workflow net is sound.",
)
@file_argument
@json_option
@click.option(
    "--max-states", type=click.IntRange(min=1), metavar="N", default=200_000,
    help="Where no theorem decides, visit up to N states [200000].",
)  # fmt: skip
def check(*, file: str, as_json: bool, max_states: int) -> int:
    """Decide whether the net in FILE is a sound workflow net.

    Sound means: whatever happens it can still end, when it ends nothing is left over, and every transition can
    fire in some run. Pools are left out; the report gives their number.

    Exit code: 0 if that is proved, 1 if it is refuted, 4 if it is unknown (the net is not a workflow net, or it
    has too many states), 2 if FILE cannot be read.
    """
    from weft.app.inspect import nets
    from weft.app.project.files import InputSource
    from weft.cli.text.net import check_lines

    report = nets.check_net(InputSource(name=file, directory=directory()), max_states=max_states)
    show(report, check_lines(report), as_json=as_json)
    return _EXIT[report.soundness.verdict.answer]


@net.command(
    effect=CommandEffect.READS,
    epilog=examples(
        "weft net invariants kanban.pnml",
        "weft net invariants kanban.pnml --check 'P1 + Pm1 + Pback1 + Pout1'",
    ),
    short_help="List the sums that no firing changes, or check one.",
)
@file_argument
@json_option
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    default=5_000,
    help="Hold up to N rows in the search for them [5000].",
)
@click.option(
    "--check", "expression", metavar="EXPR", help="Check this sum of places instead of listing all."
)
def invariants(*, file: str, as_json: bool, limit: int, expression: str | None) -> int:
    """List the minimal invariants of the net in FILE, or check one.

    A P-invariant is a weighted sum of tokens that no firing changes; a T-invariant is a number of firings of each
    transition that together change nothing. There may be very many: beyond the limit there is an error, never a
    shorter list.

    EXPR is a sum of places such as: free + 2*used - "a place with blanks". Checking it is fast for any net; if it
    does not hold, the report names a transition that changes it, and the exit code is 1.
    """
    from weft.app.inspect import nets
    from weft.app.project.files import InputSource
    from weft.cli.text.net import invariant_check_lines
    from weft.cli.text.net import invariants_lines as listed

    source = InputSource(name=file, directory=directory())
    if expression is None:
        invariants_report = nets.list_invariants(source, limit=limit)
        show(invariants_report, listed(invariants_report), as_json=as_json)
        return 0
    # Checking one sum multiplies a vector by the incidence matrix. Listing all minimal invariants can take
    # exponential time, so `--check` never does it.
    report = nets.check_sum(source, expression)
    show(report, invariant_check_lines(report), as_json=as_json)
    return _EXIT[report.verdict.answer]


@net.command(
    effect=CommandEffect.READS,
    epilog=examples("weft net convert net.pnml --to dot | dot -Tsvg > net.svg"),
    short_help="Write a net in another format.",
)
@file_argument
@click.option(
    "--to", type=click.Choice(TARGETS), help="The new format; default: the file name extension of --out."
)
@click.option(
    "--out", metavar="FILE", type=click.Path(allow_dash=True),
    help="Write to this file, as a whole or not at all, and not to standard output.",
)  # fmt: skip
@json_option
def convert(*, file: str, to: str | None, out: str | None, as_json: bool) -> int:
    """Write the net in FILE in another format.

    pnml is for other tools, json for Weft, dot (Graphviz) and mermaid for drawings. PNML has no outcomes, so a
    net of Weft is unfolded for it. With --json, the text or the name of the file is in the envelope.
    """
    from weft.app.inspect import nets
    from weft.app.project.files import STDIN, InputSource, save_text

    written = None if out == STDIN else out
    # A program that asks for JSON and names no format gets the one that loses nothing.
    to = to or _ENDINGS.get(Path(written or "").suffix) or ("json" if as_json else None)
    if to is None:
        raise click.UsageError("Name the new format: --to " + "|".join(TARGETS))
    source = InputSource(name=file, directory=directory())
    text = nets.convert_net(source, nets.Target(to))
    if written is not None:
        save_text(text, written, source=source)
        note(f"wrote {written}")
    if as_json:
        show_json({"format": to, "text": text} if written is None else {"format": to, "file": written})
    elif written is None:
        write_text(text)
    return 0
