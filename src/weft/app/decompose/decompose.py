"""`weft decompose`: turn the files of a project into a plan, and load the plan as a check."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct, structs

from weft.app.decompose.part_checks import part_checks
from weft.app.decompose.plan_text import plan_text
from weft.app.decompose.refinement import Refine, Refinement
from weft.app.decompose.source_files import UnreadFile, Watch, files_below, is_meant
from weft.app.init.survey import survey
from weft.app.project.places import absolute
from weft.decompose.attachments import without_strays
from weft.decompose.model import Limits, Part, Signals
from weft.decompose.parts import decompose
from weft.decompose.references.signals import signals_of
from weft.errors import InputError
from weft.garbage import without_gc
from weft.plan.loader.load import load_plan

_EXTRA = ("pymetis", "tree_sitter")


class Proposal(Struct, frozen=True, kw_only=True):
    whole: Part
    text: str
    """The plan."""
    references: int
    references_inside: int
    """References between files of one leaf."""
    changes: int
    changes_inside: int
    """Pairs of files that changed together and are in one leaf."""
    unread: tuple[UnreadFile, ...] = ()
    left_out: tuple[str, ...] = ()
    """Paths that are not files: deleted, another repository, or a pipe."""
    no_work: tuple[str, ...] = ()
    """Files that stay out of the plan because they give no agent anything to do; sorted."""
    limits: Limits = Limits()
    crowded: int = 0
    """Slices with more files to work on than the limit that could not be split; their tokens fit one agent."""
    history_fault: str = ""
    """Why the history could not be read; empty if it could."""
    refinement: Refinement | None = None


@without_gc()  # it creates many objects, and few of them remain
def propose(  # noqa: PLR0913 - as much as a person can say
    folder: Path,
    goal: str,
    *,
    globs: Sequence[str],
    limits: Limits,
    environ: Mapping[str, str],
    exclude: Sequence[str] = (),
    ordered: bool = True,
    watch: Watch = lambda _said: None,
    refine: Refine | None = None,
) -> Proposal:
    """Returns the proposed plan. Raises `InputError` if there is none, and the errors of `refine`."""
    if not all(map(find_spec, _EXTRA)):
        raise InputError(
            "weft decompose needs packages that are not installed; type: pip install 'weft[decompose]'"
        )
    _check_goal(goal)
    watch("listing files")
    files = files_below(folder, globs, environ, exclude=exclude)
    signals = signals_of(
        files.sources(watch), files.manifests(), files.commits, name=absolute(files.root).name
    )
    # A stray gives an agent nothing to do (a picture, a lock file) and belongs to no other file; it would be a
    # slice alone.
    signals, strays = without_strays(signals)
    watch(f"splitting {len(signals.paths):,} files")
    whole, refinement = decompose(signals, limits), None
    if refine is not None:
        watch("")  # `refine` reports its own progress
        whole, refinement = refine(whole, signals, limits, goal)
    whole = whole if ordered else _without_order(whole)
    watch("writing the plan")
    name = absolute(folder).name
    beside = (*files.beside, *strays)
    found = survey(files.root, environ)
    checks = part_checks(found, files.root, (*signals.paths, *beside), files.tests, environ)
    # `beside` keeps the patterns honest: `store/**` may stand for a part only if no other file of the project is
    # in there.
    text = plan_text(whole, name=name, goal=goal, found=found, beside=beside, checks=checks)
    # The text is built from file names of any kind; a plan that Weft could not load must never reach the user.
    load_plan(text, "the plan")
    leaf_of = {path: number for number, leaf in enumerate(whole.leaves()) for path in leaf.files}
    own = [leaf_of[path] for path in signals.paths]
    return Proposal(
        whole=whole,
        text=text,
        limits=limits,
        crowded=_count_crowded(whole, signals, limits),
        references=len(signals.uses),
        references_inside=sum(own[user] == own[used] for user, used in signals.uses),
        changes=len(signals.together),
        changes_inside=sum(own[first] == own[second] for first, second, _times in signals.together),
        unread=tuple(files.unread),
        left_out=tuple(files.left_out),
        no_work=tuple(
            sorted((*strays, *(path for path in files.metadata if is_meant(path, globs, exclude))))
        ),
        history_fault=files.history_fault,
        refinement=refinement,
    )


def _check_goal(goal: str) -> None:
    if not goal.strip():
        raise InputError("the goal is empty; describe the change in a sentence")
    if any(
        "\ud800" <= letter <= "\udfff" for letter in goal
    ):  # surrogates, to which Python decodes invalid bytes
        raise InputError("the goal is not text in UTF-8, which plans must be")


def _count_crowded(whole: Part, signals: Signals, limits: Limits) -> int:
    aside = {signals.paths[file] for file in signals.attachments}
    work = (sum(path not in aside for path in leaf.files) for leaf in whole.leaves() if not leaf.too_large)
    return sum(files > limits.max_files_per_subplan for files in work)


def _without_order(part: Part) -> Part:
    return structs.replace(part, depends_on=(), parts=tuple(map(_without_order, part.parts)))
