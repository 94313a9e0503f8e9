"""A milestone of `gsd` as a group of subplans."""

from collections.abc import Iterator, Sequence

from weft.plan.convert.fields import NOT_CARRIED_OVER
from weft.plan.convert.gsd_files import SlicePlan
from weft.plan.convert.gsd_milestones import Milestone
from weft.plan.convert.gsd_roadmap import Slice
from weft.plan.convert.names import fitting_ids
from weft.plan.convert.writing import as_glob, one_or_all, without_empty
from weft.plan.text.emit import Plain


class MilestoneWriter:
    def __init__(self, milestone: Milestone, commands: Sequence[str]) -> None:
        self._milestone = milestone
        self._source = milestone.source
        self._commands = commands
        """What verifies every slice."""
        self._ids = fitting_ids((each.id for each in milestone.slices), otherwise="slice")

    def tell_that_it_is_left_out(self) -> None:
        why = "it is done: its slices are all checked" if self._milestone.roadmap else "it has no roadmap"
        self._source.note(1, f"milestone {self._milestone.id!r} {NOT_CARRIED_OVER}", why)

    def group(self, id_: str, needs: list[str]) -> Plain:
        self._tell_of_plans_without_slices()
        return without_empty(
            {
                "id": id_,
                "title": self._milestone.title,
                "depends_on": needs,
                "subplans": [self._leaf(each) for each in self._milestone.slices if self._is_open(each)],
            }
        )

    def _tell_of_plans_without_slices(self) -> None:
        known = {each.id for each in self._milestone.slices}
        for id_, plans in self._milestone.plans.items():
            if id_ not in known:
                for plan in plans:
                    plan.source.note(1, f"the file {NOT_CARRIED_OVER}", f"the roadmap has no slice {id_!r}")

    def _is_open(self, each: Slice) -> bool:
        if each.done:
            self._source.note(each.line, f"slice {each.id!r} {NOT_CARRIED_OVER}", "it is done")
        return not each.done

    def _leaf(self, each: Slice) -> Plain:
        plans = self._milestone.plans.get(each.id, [])
        if not plans:
            self._source.note(
                each.line, f"slice {each.id!r} has no plan yet", "its prompt is what the roadmap says"
            )
        for plan in plans:
            _tell(plan)
        commands = [found.text for plan in plans for found in plan.commands]
        return without_empty(
            {
                "id": self._ids[each.id],
                "title": each.title,
                "depends_on": list(self._open_needs(each)),
                "files": list(dict.fromkeys(glob for plan in plans for glob in _files(plan))),
                "verify": one_or_all(list(dict.fromkeys([*commands, *self._commands]))),
                "prompt": _prompt(each, plans),
            }
        )

    def _open_needs(self, each: Slice) -> Iterator[str]:
        done = {other.id for other in self._milestone.slices if other.done}
        for need in dict.fromkeys(each.needs):
            if need in done:
                what = f"slice {each.id!r}: that it depends on {need!r} {NOT_CARRIED_OVER}"
                self._source.note(each.line, what, "that one is done")
            else:
                yield self._ids[need]


def _prompt(each: Slice, plans: Sequence[SlicePlan]) -> str:
    shows = f"After this: {each.shows}" if each.shows else ""
    return "\n\n".join(
        part for part in (each.title or each.id, shows, each.text, *(plan.text for plan in plans)) if part
    )


def _tell(plan: SlicePlan) -> None:
    for found in plan.unclear:
        plan.source.note(
            found.line, "a verification stays in the prompt only", "it is no command in backquotes"
        )
    for found in plan.done:
        plan.source.note(found.line, f"task {found.text!r} stays in the prompt, checked", "it is done")


def _files(plan: SlicePlan) -> Iterator[str]:
    for found in plan.files:
        glob, fault = as_glob(found.text)
        if fault:
            plan.source.note(found.line, f"the file {found.text!r} {NOT_CARRIED_OVER}", fault)
        else:
            yield glob
