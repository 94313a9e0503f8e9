"""Reads the milestones of a folder of `gsd` from their files, with their dependencies.

A milestone with faults in its files cannot be read. It is left out with a note for each fault, and so are the
milestones that depend on it; the others are converted. If no milestone remains, the faults are raised.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from weft.plan.convert.fields import NOT_CARRIED_OVER, Fields
from weft.plan.convert.gsd_files import (
    CONTEXT,
    ROADMAP,
    SLICE_PLAN,
    TASK_PLAN,
    PlanLine,
    SlicePlan,
    front_matter,
    lines_of,
    milestone_id,
    read_plan,
)
from weft.plan.convert.gsd_roadmap import Roadmap, Slice, read_roadmap
from weft.plan.convert.notes import ConversionNotes, ConversionSource, ConvertError
from weft.plan.convert.order import Group, cycle

_NEEDS = ("depends_on", "dependsOn")


@dataclass(slots=True, kw_only=True)
class Milestone:
    """A milestone, as read from its files."""

    id: str
    source: ConversionSource
    """Its roadmap, or else the first of its files."""
    ledger: ConversionNotes
    """The faults of its files."""
    left_out: str = ""
    """Why it cannot be converted; empty if it can."""
    roadmap: Roadmap | None = None
    needs: dict[str, tuple[ConversionSource, int]] = field(
        default_factory=dict[str, tuple[ConversionSource, int]]
    )
    """The milestones it depends on, and where they are named."""
    plans: dict[str, list[SlicePlan]] = field(default_factory=dict[str, list[SlicePlan]])
    """By slice: its plan, then those of its tasks."""

    @property
    def slices(self) -> tuple[Slice, ...]:
        return () if self.roadmap is None else self.roadmap.slices

    @property
    def is_open(self) -> bool:
        return not self.left_out and any(not part.done for part in self.slices)

    @property
    def title(self) -> str:
        return (self.roadmap and self.roadmap.title) or self.id

    @property
    def vision(self) -> str:
        return "" if self.roadmap is None else self.roadmap.vision

    def open_needs(self, milestones: Mapping[str, "Milestone"]) -> Iterator[str]:
        for need, (source, line) in self.needs.items():
            if milestones[need].is_open:
                yield need
            else:
                message = f"milestone {self.id!r}: that it depends on {need!r} {NOT_CARRIED_OVER}"
                source.note(line, message, "that one is done")


def read_milestones(sources: Sequence[ConversionSource], ledger: ConversionNotes) -> dict[str, Milestone]:
    """Returns the milestones by id, in the order of their numbers; errors in them are faults."""
    folders: dict[str, Milestone] = {}
    for source in sources:
        if not _read_file(source, folders):
            source.note(1, f"the file {NOT_CARRIED_OVER}", "it is no roadmap, plan, context or preference")
    ordered = sorted(
        folders.values(), key=lambda milestone: (int(re.sub(r"\D.*", "", milestone.id[1:])), milestone.id)
    )
    milestones: dict[str, Milestone] = {}
    for milestone in ordered:
        if milestones.setdefault(milestone.id, milestone) is not milestone:
            message = f"milestone {milestone.id!r} stands in {milestones[milestone.id].source.file}, too"
            replace(milestone.source, ledger=ledger).fault(1, message)
    if not any(milestone.roadmap for milestone in ordered):
        file = sources[0] if sources else ConversionSource(file="gsd", text="", ledger=ledger)
        file.fault(1, "no milestone was found; a file such as M001/M001-ROADMAP.md is needed")
    _check(milestones, ledger)
    return milestones


def _read_file(source: ConversionSource, folders: dict[str, Milestone]) -> bool:
    """Reads a file of a milestone; returns False if it is none."""
    # Worktrees contain copies of the same files.
    if "worktrees" in source.file.split("/"):
        return False
    for pattern, read in ((ROADMAP, _roadmap), (CONTEXT, _context), (SLICE_PLAN, _plan), (TASK_PLAN, _plan)):
        path = pattern.fullmatch(source.file)
        if path is not None:
            new = Milestone(id=milestone_id(path), source=source, ledger=source.ledger.part())
            # The files of one folder are one milestone, in whatever order they are read.
            milestone = folders.setdefault(path["folder"], new)
            try:
                read(replace(source, ledger=milestone.ledger), path, milestone)
            except ConvertError as error:
                for problem in error.problems:
                    milestone.ledger.fault(problem)
            return True
    return False


def _roadmap(source: ConversionSource, path: re.Match[str], milestone: Milestone) -> None:
    milestone.id = milestone_id(path)
    milestone.source = source
    milestone.roadmap = read_roadmap(source, lines_of(source))
    _front_matter(source, milestone)


def _context(source: ConversionSource, path: re.Match[str], milestone: Milestone) -> None:
    # The roadmap's name decides; the context may be read before it.
    milestone.id = milestone_id(path) if milestone.roadmap is None else milestone.id
    _front_matter(source, milestone)
    source.note(
        1, f"the text of the file {NOT_CARRIED_OVER}", "agents are given the roadmap's and the plans' words"
    )


def _front_matter(source: ConversionSource, milestone: Milestone) -> None:
    top = front_matter(source)
    if top is not None:
        for key in _NEEDS:
            for word in top.words(key):
                milestone.needs[_upper(word.text)] = (source, word.node.line)
        top.rest()


def _upper(id_: str) -> str:
    """Returns `m001-ab12cd` as `M001-ab12cd`."""
    stripped = id_.strip()
    return stripped[:1].upper() + stripped[1:]


def _plan(source: ConversionSource, path: re.Match[str], milestone: Milestone) -> None:
    plan = read_plan(source)
    top = front_matter(source)
    plans = milestone.plans.setdefault(path["slice"].upper(), [])
    plans.append(plan if top is None else _with_listed_files(plan, top))
    # By its path alone, a task's plan may come before that of its slice.
    plans.sort(
        key=lambda candidate: (TASK_PLAN.fullmatch(candidate.source.file) is not None, candidate.source.file)
    )


def _with_listed_files(plan: SlicePlan, top: Fields) -> SlicePlan:
    listed = tuple(PlanLine(line=word.node.line, text=word.text) for word in top.words("files"))
    top.rest()
    return SlicePlan(
        source=plan.source,
        text=plan.text,
        files=(*listed, *plan.files),
        commands=plan.commands,
        unclear=plan.unclear,
        checked=plan.checked,
    )


# References between milestones.


def _check(milestones: Mapping[str, Milestone], ledger: ConversionNotes) -> None:
    for milestone in milestones.values():
        _check_needs(milestone, milestones)
        if milestone.roadmap is not None and _check_slices(milestone.roadmap):
            _check_cycle([milestone], milestone.ledger)
    _leave_out(milestones)
    _check_cycle([each for each in milestones.values() if not each.left_out], ledger)


def _check_cycle(milestones: Sequence[Milestone], ledger: ConversionNotes) -> None:
    ids = {milestone.id for milestone in milestones}
    groups = {milestone.id: _group(milestone, ids) for milestone in milestones}
    cycle_text = cycle(groups, group_word="milestone", member_word="slice")
    if cycle_text is not None:
        source = replace(milestones[0].source, ledger=ledger)
        source.fault(1, f"the dependencies form a cycle: {cycle_text}")


def _leave_out(milestones: Mapping[str, Milestone]) -> None:
    """Marks the milestones with faults, and those that depend on one, directly or not."""
    for milestone in milestones.values():
        if milestone.ledger.faults():
            milestone.left_out = "it cannot be read"
    waiting = list(milestones.values())
    while waiting:
        milestone = waiting.pop()
        for dependent in milestones.values():
            if milestone.left_out and milestone.id in dependent.needs and not dependent.left_out:
                dependent.left_out = f"it depends on {milestone.id!r}, which is left out"
                # Being left out spreads to the dependents of the dependents.
                waiting.append(dependent)


def note_left_out(milestones: Iterable[Milestone]) -> None:
    """Adds a note for each milestone that cannot be converted, and for each of its faults."""
    for milestone in milestones:
        if milestone.left_out:
            milestone.source.note(1, f"milestone {milestone.id!r} {NOT_CARRIED_OVER}", milestone.left_out)
        for fault in milestone.ledger.faults():
            milestone.ledger.note(
                fault.at.file, fault.at.line, f"milestone {milestone.id!r} {NOT_CARRIED_OVER}", fault.message
            )


def _group(milestone: Milestone, ids: set[str]) -> Group:
    members = {
        f"{milestone.id}/{member.id}": [f"{milestone.id}/{need}" for need in member.needs]
        for member in milestone.slices
    }
    return Group(needs=[need for need in milestone.needs if need in ids], members=members)


def _check_needs(milestone: Milestone, milestones: Mapping[str, Milestone]) -> None:
    for need, (source, line) in milestone.needs.items():
        fault = _need_fault(need, milestone, milestones)
        if fault:
            source.fault(line, f"milestone {milestone.id!r} depends on {fault}")


def _need_fault(need: str, milestone: Milestone, milestones: Mapping[str, Milestone]) -> str:
    if need == milestone.id:
        return "itself"
    if need not in milestones:
        return f"{need!r}, which does not exist"
    return "" if milestones[need].roadmap else f"{need!r}, which has no roadmap"


def _check_slices(roadmap: Roadmap) -> bool:
    first: dict[str, int] = {}
    for entry in roadmap.slices:
        first.setdefault(entry.id, entry.line)
    faults = [(entry, fault) for entry in roadmap.slices for fault in _slice_faults(entry, first)]
    for entry, fault in faults:
        roadmap.source.fault(entry.line, f"slice {entry.id!r}: {fault}")
    return not faults


def _slice_faults(entry: Slice, first: Mapping[str, int]) -> Iterator[str]:
    if first[entry.id] != entry.line:
        yield f"its id was already given in line {first[entry.id]}"
    for need in entry.needs:
        if need == entry.id:
            yield "it depends on itself"
        elif need not in first:
            yield f"it depends on {need!r}, which is no slice of this milestone"
