"""Writes a milestone of `gsd` as a group of subplans."""

from collections.abc import Iterator, Sequence

from weft.plan.convert.fields import NOT_CARRIED_OVER
from weft.plan.convert.gsd_files import SlicePlan
from weft.plan.convert.gsd_milestones import Milestone
from weft.plan.convert.gsd_roadmap import Slice
from weft.plan.convert.names import valid_ids
from weft.plan.convert.plan_parts import as_glob, one_or_all, without_empty
from weft.plan.text.emit import Plain


class MilestoneWriter:
    """Writes one milestone."""

    def __init__(self, milestone: Milestone, commands: Sequence[str]) -> None:
        self._milestone = milestone
        self._source = milestone.source
        self._commands = commands
        """The commands that verify every slice."""
        self._ids = valid_ids((entry.id for entry in milestone.slices), otherwise="slice")

    def note_left_out(self) -> None:
        why = "it is done: its slices are all checked" if self._milestone.roadmap else "it has no roadmap"
        self._source.note(1, f"milestone {self._milestone.id!r} {NOT_CARRIED_OVER}", why)

    def group(self, id_: str, needs: list[str]) -> Plain:
        self._note_orphan_plans()
        return without_empty(
            {
                "id": id_,
                "title": self._milestone.title,
                "depends_on": needs,
                "subplans": [self._leaf(entry) for entry in self._milestone.slices if self._is_open(entry)],
            }
        )

    def _note_orphan_plans(self) -> None:
        slice_ids = {entry.id for entry in self._milestone.slices}
        for id_, plans in self._milestone.plans.items():
            if id_ not in slice_ids:
                for plan in plans:
                    plan.source.note(1, f"the file {NOT_CARRIED_OVER}", f"the roadmap has no slice {id_!r}")

    def _is_open(self, entry: Slice) -> bool:
        if entry.done:
            self._source.note(entry.line, f"slice {entry.id!r} {NOT_CARRIED_OVER}", "it is done")
        return not entry.done

    def _leaf(self, entry: Slice) -> Plain:
        plans = self._milestone.plans.get(entry.id, [])
        if not plans:
            self._source.note(
                entry.line, f"slice {entry.id!r} has no plan yet", "its prompt is what the roadmap says"
            )
        for plan in plans:
            _add_notes(plan)
        commands = [command.text for plan in plans for command in plan.commands]
        return without_empty(
            {
                "id": self._ids[entry.id],
                "title": entry.title,
                "depends_on": list(self._open_needs(entry)),
                "files": list(dict.fromkeys(glob for plan in plans for glob in _files(plan))),
                "verify": one_or_all(list(dict.fromkeys([*commands, *self._commands]))),
                "prompt": _prompt(entry, plans),
            }
        )

    def _open_needs(self, entry: Slice) -> Iterator[str]:
        # A done slice is not written, and a dependency on an absent subplan would make the plan invalid.
        done_ids = {sibling.id for sibling in self._milestone.slices if sibling.done}
        for need in dict.fromkeys(entry.needs):
            if need in done_ids:
                message = f"slice {entry.id!r}: that it depends on {need!r} {NOT_CARRIED_OVER}"
                self._source.note(entry.line, message, "that one is done")
            else:
                yield self._ids[need]


def _prompt(entry: Slice, plans: Sequence[SlicePlan]) -> str:
    shows = f"After this: {entry.shows}" if entry.shows else ""
    return "\n\n".join(
        part for part in (entry.title or entry.id, shows, entry.text, *(plan.text for plan in plans)) if part
    )


def _add_notes(plan: SlicePlan) -> None:
    for verification in plan.unclear:
        plan.source.note(
            verification.line, "a verification stays in the prompt only", "it is no command in backquotes"
        )
    for task in plan.checked:
        plan.source.note(task.line, f"task {task.text!r} stays in the prompt, checked", "it is done")


def _files(plan: SlicePlan) -> Iterator[str]:
    for entry in plan.files:
        glob, fault = as_glob(entry.text)
        if fault:
            plan.source.note(entry.line, f"the file {entry.text!r} {NOT_CARRIED_OVER}", fault)
        else:
            yield glob
