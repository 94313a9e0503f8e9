"""All packages, a table, and exit code 1 if ours does not keep more together than the others somewhere."""

import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.decomposition.measuring import Comparison, Kept, Measured, measured
from benchmarks.decomposition.packages import PACKAGES


def quality(cache: Path, only: Sequence[str]) -> int:
    chosen = [package for package in PACKAGES if not only or package.name in only]
    found = [measured(package, cache, _told) for package in chosen]
    _told("done")
    print(report(found))
    lost = [line for each in found for line in losses(each)]
    print("\n".join(lost) if lost else "Ours keeps more together everywhere.")
    return bool(lost)


def losses(found: Measured) -> list[str]:
    """Where ours does not keep more together than another way to divide."""
    lines: list[str] = []
    for what, comparison in (("as folders", found.as_folders), ("at our limits", found.at_defaults)):
        for name, other in (("folders", comparison.folders), ("by lot", comparison.lot)):
            lines += [
                f"{found.package}, {what}: {signal} {own:.3f}, {name} {theirs:.3f}"
                for signal, own, theirs in _shares(found, comparison.ours, other)
                if own <= theirs
            ]
    return lines


def _shares(found: Measured, ours: Kept, other: Kept) -> list[tuple[str, float, float]]:
    return [
        ("references", ours.references, other.references),
        *([("changes", ours.history, other.history)] if found.commits else []),
        *([("later changes", ours.later, other.later)] if found.later_commits else []),
    ]


def report(found: Sequence[Measured]) -> str:
    """Three tables. An error is that of the difference between ours and folders."""
    head = (
        "package",
        "files",
        "references",
        "releases",
        "commits",
        "later commits",
        "leaves",
        "depth",
        "CPU",
    )
    whole = table(head, [_facts(each) for each in found])
    names = (
        "effective leaves: ours / folders",
        "largest leaf",
        "references: ours / folders / lot",
        "changes: ours / folders / lot",
        "later changes: ours / folders / lot",
    )
    as_folders = table(("folders as they are", *names), [_row(each, each.as_folders) for each in found])
    at_defaults = table(("at our limits", *names), [_row(each, each.at_defaults) for each in found])
    return f"{whole}\n\n{as_folders}\n\n{at_defaults}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def _facts(found: Measured) -> list[str]:
    counts = (found.files, found.references, found.releases, found.commits, found.later_commits)
    leaves = (found.at_defaults.leaves, found.depth)
    return [found.package, *(f"{count:,}" for count in (*counts, *leaves)), f"{found.seconds:.1f} s"]


def _row(found: Measured, it: Comparison) -> list[str]:
    ways, balances = (it.ours, it.folders, it.lot), (it.balance, it.folders_balance)
    history, later = (
        " / ".join(f"{share:.2f}" for share in shares)
        for shares in ([way.history for way in ways], [way.later for way in ways])
    )
    return [
        found.package,
        " / ".join(f"{balance.effective:.1f}" for balance in balances),
        " / ".join(f"{balance.largest:.2f}" for balance in balances),
        " / ".join(f"{way.references:.2f}" for way in ways),
        history if found.commits else "",
        f"{later} (± {it.error:.2f})" if found.later_commits else "",
    ]


def _told(text: str) -> None:
    """On a terminal, one line that is written over again and again."""
    is_terminal = sys.stderr.isatty()
    print(
        f"\r\033[K{text}" if is_terminal else text,
        end="" if is_terminal else "\n",
        file=sys.stderr,
        flush=True,
    )
