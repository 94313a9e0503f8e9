"""One package: ours beside the others."""

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from msgspec import Struct

from benchmarks.decomposition.dividing import (
    Balance,
    Leaves,
    Pair,
    by_folder,
    by_lot,
    evened,
    first_as_balanced,
    inside,
    limits_to_try,
    pairs_of,
    standard_error,
)
from benchmarks.decomposition.fetching import archive_of, files_in
from benchmarks.decomposition.histories import Tree, build, later_commits
from benchmarks.decomposition.packages import Package, releases_of
from weft.app.decompose.decompose import propose
from weft.app.decompose.source_files import files_below
from weft.decompose.attachments import without_strays
from weft.decompose.model import Limits, Signals
from weft.decompose.parts import decompose
from weft.decompose.references.signals import signals_of

MOST_FILES_OF_A_COMMIT = 30  # as for the history that ours sees
SEEDS = range(10)
UNLIMITED = 10**12


class Kept(Struct, frozen=True, kw_only=True):
    """The shares of pairs that are in one leaf."""

    references: float
    history: float
    """Of files that changed together in the commits that ours sees."""
    later: float
    """The same for commits that it does not see."""


class Comparison(Struct, frozen=True, kw_only=True):
    leaves: int
    balance: Balance
    ours: Kept
    folders: Kept
    folders_balance: Balance
    lot: Kept
    error: float
    """The standard error of the difference between ours and folders, for later changes."""


class Measured(Struct, frozen=True, kw_only=True):
    package: str
    files: int
    references: int
    releases: int
    commits: int
    later_commits: int
    depth: int
    seconds: float
    as_folders: Comparison
    """Folders as they are; ours at least as balanced."""
    at_defaults: Comparison
    """Ours as it is; folders cut and joined to be as balanced."""


class Known(Struct, frozen=True, kw_only=True):
    """What is counted, of a package."""

    paths: tuple[str, ...]
    references: Sequence[Pair]
    history: Sequence[Sequence[Pair]]
    """Of each commit."""
    later: Sequence[Sequence[Pair]]

    def kept(self, leaves: Leaves) -> Kept:
        return Kept(
            references=inside(leaves, self.references),
            history=inside(leaves, chain(*self.history)),
            later=inside(leaves, chain(*self.later)),
        )

    def by_lot(self, sizes: list[int]) -> Kept:
        found = [self.kept(by_lot(self.paths, sizes, seed)) for seed in SEEDS]
        return Kept(
            references=sum(each.references for each in found) / len(found),
            history=sum(each.history for each in found) / len(found),
            later=sum(each.later for each in found) / len(found),
        )

    def comparison(self, ours: Leaves, folders: Leaves) -> Comparison:
        return Comparison(
            leaves=len(ours),
            balance=Balance.of(ours),
            ours=self.kept(ours),
            folders=self.kept(folders),
            folders_balance=Balance.of(folders),
            lot=self.by_lot([len(leaf) for leaf in ours]),
            error=standard_error(ours, folders, self.later),
        )


def repository(package: Package, cache: Path, told: Callable[[str], None]) -> Path:
    """Made once for these releases and this choice of files."""
    digest = hashlib.sha256(repr((package, releases_of(package))).encode()).hexdigest()
    top = cache / "repositories" / digest[:16] / package.name
    if not top.exists():
        build(top, _trees(package, cache / "archives", told))
    return top


def _trees(package: Package, store: Path, told: Callable[[str], None]) -> Iterator[Tree]:
    releases = releases_of(package)
    for number, release in enumerate(releases, 1):
        told(f"{release.package} {release.version}, {number} of {len(releases)} releases")
        archive = archive_of(package, release, store)
        yield {path: content for path, content in files_in(archive) if package.is_source(path)}


def measured(package: Package, cache: Path, told: Callable[[str], None]) -> Measured:
    top = repository(package, cache, told)
    told(f"{package.name}: at the default limits")
    begin = time.process_time()
    proposal = propose(top, "Try it.", globs=(), limits=Limits(), environ=os.environ)
    seconds = time.process_time() - begin
    files = files_below(top, (), os.environ)
    every_file = signals_of(files.sources(), files.manifests(), files.commits, name=top.name)
    signals, _strays = without_strays(every_file)
    history, later = (
        pairs_of(commits, signals.paths, most=MOST_FILES_OF_A_COMMIT)
        for commits in (files.commits, later_commits(top))
    )
    references = [(signals.paths[user], signals.paths[used], 1.0) for user, used in signals.uses]
    known = Known(paths=signals.paths, references=references, history=history, later=later)
    folders = by_folder(signals.paths, package.root)
    ours = [leaf.files for leaf in proposal.whole.leaves()]
    return Measured(
        package=package.name,
        files=len(signals.paths),
        references=len(references),
        releases=len(releases_of(package)),
        commits=len(history),
        later_commits=len(later),
        depth=proposal.whole.depth,
        seconds=seconds,
        as_folders=known.comparison(_as_balanced(signals, folders, told), folders),
        at_defaults=known.comparison(ours, _cut_as(ours, folders, signals)),
    )


def _cut_as(ours: Leaves, folders: Leaves, signals: Signals) -> Leaves:
    """As balanced as ours, or less so; no leaf has more files, or more tokens, than ours have at most."""
    tokens = dict(zip(signals.paths, signals.tokens, strict=True))

    def size(leaf: Sequence[str]) -> int:
        return sum(tokens[path] for path in leaf)

    files, text = max(map(len, ours)), max(map(size, ours))
    effective = Balance.of(ours).effective
    return evened(folders, effective=effective, fits=lambda leaf: len(leaf) <= files and size(leaf) <= text)


def _as_balanced(signals: Signals, folders: Leaves, told: Callable[[str], None]) -> Leaves:
    largest = max(map(len, folders))
    found = first_as_balanced(_tried(signals, largest, told), Balance.of(folders))
    if found is None:
        raise SystemExit("no limit gives leaves as balanced as folders are")
    return found


def _tried(signals: Signals, largest: int, told: Callable[[str], None]) -> Iterator[Leaves]:
    for most in limits_to_try(largest):
        told(f"leaves of at most {most} files")
        limits = Limits(max_files_per_subplan=most, max_tokens_per_subplan=UNLIMITED)
        yield [leaf.files for leaf in decompose(signals, limits).leaves()]
