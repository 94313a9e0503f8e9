"""The milestones in a folder of `gsd`, put together from their files, and what they depend on.

A milestone whose files have faults cannot be read. It is left out with a note for each fault, and so are the
milestones that depend on it; the others are converted. If no milestone is left, the faults are raised.
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
    Found,
    SlicePlan,
    front_matter,
    lines_of,
    milestone_id,
    read_plan,
)
from weft.plan.convert.gsd_roadmap import Roadmap, Slice, read_roadmap
from weft.plan.convert.notes import ConvertError, Ledger, Source
from weft.plan.convert.order import Group, cycle

_NEEDS = ("depends_on", "dependsOn")


@dataclass(slots=True, kw_only=True)
class Milestone:
    id: str
    source: Source
    """Its roadmap, or else the first of its files."""
    ledger: Ledger
    """The faults of its files."""
    left_out: str = ""
    """Why it cannot be converted; empty if it can."""
    roadmap: Roadmap | None = None
    needs: dict[str, tuple[Source, int]] = field(default_factory=dict[str, tuple[Source, int]])
    """The milestones it depends on, and where that is said."""
    plans: dict[str, list[SlicePlan]] = field(default_factory=dict[str, list[SlicePlan]])
    """By slice: its plan, then those of its tasks."""

    @property
    def slices(self) -> tuple[Slice, ...]:
        return () if self.roadmap is None else self.roadmap.slices

    @property
    def is_open(self) -> bool:
        return not self.left_out and any(not each.done for each in self.slices)

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
                what = f"milestone {self.id!r}: that it depends on {need!r} {NOT_CARRIED_OVER}"
                source.note(line, what, "that one is done")


def read_milestones(sources: Sequence[Source], ledger: Ledger) -> dict[str, Milestone]:
    """By id, in the order of their numbers; what is wrong with them is a fault."""
    folders: dict[str, Milestone] = {}
    for source in sources:
        if not _belongs(source, folders):
            source.note(1, f"the file {NOT_CARRIED_OVER}", "it is no roadmap, plan, context or preference")
    found = sorted(folders.values(), key=lambda each: (int(re.sub(r"\D.*", "", each.id[1:])), each.id))
    milestones: dict[str, Milestone] = {}
    for each in found:
        if milestones.setdefault(each.id, each) is not each:
            message = f"milestone {each.id!r} stands in {milestones[each.id].source.file}, too"
            replace(each.source, ledger=ledger).fault(1, message)
    if not any(each.roadmap for each in found):
        file = sources[0] if sources else Source(file="gsd", text="", ledger=ledger)
        file.fault(1, "no milestone was found; a file such as M001/M001-ROADMAP.md is needed")
    _check(milestones, ledger)
    return milestones


def _belongs(source: Source, folders: dict[str, Milestone]) -> bool:
    """Whether it is a file of a milestone, which then has read it."""
    if "worktrees" in source.file.split("/"):
        return False
    for pattern, read in ((ROADMAP, _roadmap), (CONTEXT, _context), (SLICE_PLAN, _plan), (TASK_PLAN, _plan)):
        path = pattern.fullmatch(source.file)
        if path is not None:
            new = Milestone(id=milestone_id(path), source=source, ledger=source.ledger.part())
            milestone = folders.setdefault(path["folder"], new)
            try:
                read(replace(source, ledger=milestone.ledger), path, milestone)
            except ConvertError as error:
                for problem in error.problems:
                    milestone.ledger.fault(problem)
            return True
    return False


def _roadmap(source: Source, path: re.Match[str], milestone: Milestone) -> None:
    milestone.id = milestone_id(path)
    milestone.source = source
    milestone.roadmap = read_roadmap(source, lines_of(source))
    _front_matter(source, milestone)


def _context(source: Source, path: re.Match[str], milestone: Milestone) -> None:
    milestone.id = milestone_id(path) if milestone.roadmap is None else milestone.id
    _front_matter(source, milestone)
    source.note(
        1, f"the text of the file {NOT_CARRIED_OVER}", "agents are given the roadmap's and the plans' words"
    )


def _front_matter(source: Source, milestone: Milestone) -> None:
    top = front_matter(source)
    if top is not None:
        for key in _NEEDS:
            for word in top.words(key):
                milestone.needs[_upper(word.text)] = (source, word.node.line)
        top.rest()


def _upper(id_: str) -> str:
    """`m001-ab12cd` as `M001-ab12cd`."""
    said = id_.strip()
    return said[:1].upper() + said[1:]


def _plan(source: Source, path: re.Match[str], milestone: Milestone) -> None:
    plan = read_plan(source)
    top = front_matter(source)
    plans = milestone.plans.setdefault(path["slice"].upper(), [])
    plans.append(plan if top is None else _with_listed_files(plan, top))
    # A task's plan may come first by its path.
    plans.sort(key=lambda each: (TASK_PLAN.fullmatch(each.source.file) is not None, each.source.file))


def _with_listed_files(plan: SlicePlan, top: Fields) -> SlicePlan:
    listed = tuple(Found(line=word.node.line, text=word.text) for word in top.words("files"))
    top.rest()
    return SlicePlan(
        source=plan.source,
        text=plan.text,
        files=(*listed, *plan.files),
        commands=plan.commands,
        unclear=plan.unclear,
        done=plan.done,
    )


# Whether they refer to each other well.


def _check(milestones: Mapping[str, Milestone], ledger: Ledger) -> None:
    for milestone in milestones.values():
        _check_needs(milestone, milestones)
        if milestone.roadmap is not None and _slices_refer_well(milestone.roadmap):
            _check_cycle([milestone], milestone.ledger)
    _leave_out(milestones)
    _check_cycle([each for each in milestones.values() if not each.left_out], ledger)


def _check_cycle(milestones: Sequence[Milestone], ledger: Ledger) -> None:
    ids = {each.id for each in milestones}
    groups = {each.id: _group(each, ids) for each in milestones}
    around = cycle(groups, group_word="milestone", member_word="slice")
    if around is not None:
        source = replace(milestones[0].source, ledger=ledger)
        source.fault(1, f"the dependencies go around in a circle: {around}")


def _leave_out(milestones: Mapping[str, Milestone]) -> None:
    """Marks the milestones with faults, and those that depend on one, directly or not."""
    for each in milestones.values():
        if each.ledger.faults():
            each.left_out = "it cannot be read"
    waiting = list(milestones.values())
    while waiting:
        each = waiting.pop()
        for other in milestones.values():
            if each.left_out and each.id in other.needs and not other.left_out:
                other.left_out = f"it depends on {each.id!r}, which is left out"
                waiting.append(other)


def note_left_out(milestones: Iterable[Milestone]) -> None:
    """A note for each milestone that cannot be converted, and for each of its faults."""
    for each in milestones:
        if each.left_out:
            each.source.note(1, f"milestone {each.id!r} {NOT_CARRIED_OVER}", each.left_out)
        for fault in each.ledger.faults():
            each.ledger.note(
                fault.at.file, fault.at.line, f"milestone {each.id!r} {NOT_CARRIED_OVER}", fault.message
            )


def _group(milestone: Milestone, ids: set[str]) -> Group:
    members = {
        f"{milestone.id}/{each.id}": [f"{milestone.id}/{need}" for need in each.needs]
        for each in milestone.slices
    }
    return Group(needs=[need for need in milestone.needs if need in ids], members=members)


def _check_needs(milestone: Milestone, milestones: Mapping[str, Milestone]) -> None:
    for need, (source, line) in milestone.needs.items():
        fault = _what_is_wrong(need, milestone, milestones)
        if fault:
            source.fault(line, f"milestone {milestone.id!r} depends on {fault}")


def _what_is_wrong(need: str, milestone: Milestone, milestones: Mapping[str, Milestone]) -> str:
    if need == milestone.id:
        return "itself"
    if need not in milestones:
        return f"{need!r}, which does not exist"
    return "" if milestones[need].roadmap else f"{need!r}, which has no roadmap"


def _slices_refer_well(roadmap: Roadmap) -> bool:
    first: dict[str, int] = {}
    for each in roadmap.slices:
        first.setdefault(each.id, each.line)
    wrong = [(each, said) for each in roadmap.slices for said in _wrong_with(each, first)]
    for each, said in wrong:
        roadmap.source.fault(each.line, f"slice {each.id!r}: {said}")
    return not wrong


def _wrong_with(each: Slice, first: Mapping[str, int]) -> Iterator[str]:
    if first[each.id] != each.line:
        yield f"its id was already given in line {first[each.id]}"
    for need in each.needs:
        if need == each.id:
            yield "it depends on itself"
        elif need not in first:
            yield f"it depends on {need!r}, which is no slice of this milestone"
