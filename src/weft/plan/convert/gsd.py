"""Converts milestones of `gsd`: each becomes a group, its slices subplans, its tasks a part of the prompts.

`gsd_files` and `gsd_roadmap` list the formats that are read. A checked slice is done, and so is a milestone
with only checked slices: it is left out with a note, and nothing depends on it any more. A milestone without a
roadmap is left out, too, and so is one with faults, with its dependents: see `gsd_milestones`.

Of the preferences, `parallel`, `budget_ceiling` and `verification_commands` are read.
"""

from collections.abc import Mapping
from dataclasses import replace

from weft.plan.convert.fields import NOT_CARRIED_OVER, Fields
from weft.plan.convert.gsd_files import PREFERENCES, front_matter
from weft.plan.convert.gsd_milestones import Milestone, note_left_out, read_milestones
from weft.plan.convert.gsd_slices import MilestoneWriter
from weft.plan.convert.names import valid_ids
from weft.plan.convert.notes import ConversionNotes, ConversionSource
from weft.plan.convert.plan_parts import AGENT, ASSUMED, NO_AGENT_NAMED, without_empty
from weft.plan.text.emit import Plain

MOST_WORKERS = 4
_MERGE_WHEN = {"per-slice": "slice", "per-milestone": "milestone"}
_MERGE_MODE = {"auto": "auto", "confirm": "confirm", "manual": "manual"}


def convert_gsd(files: Mapping[str, str], ledger: ConversionNotes) -> dict[str, Plain]:
    """Returns the plan without its first keys."""
    sources = [ConversionSource(file=file, text=files[file], ledger=ledger) for file in sorted(files)]
    preferences = [source for source in sources if PREFERENCES.fullmatch(source.file)]
    milestones = read_milestones([source for source in sources if source not in preferences], ledger)
    settings, commands = _preferences(preferences)
    ledger.settle()
    first = next(iter(milestones.values())).source
    first.note(1, *NO_AGENT_NAMED)
    if settings.get("policy") is None and not settings.get("max_parallel"):
        message = "milestones and slices that do not depend on each other may run at the same time"
        first.note(1, message, "gsd runs them one by one by default; write `policy: serial` for that")
    return without_empty(
        {
            "goal": _goal(milestones),
            **settings,
            "agents": {AGENT: {"use": ASSUMED}},
            "subplans": _groups(milestones, commands, ledger),
        }
    )


def _goal(milestones: Mapping[str, Milestone]) -> str:
    open_milestones = [milestone for milestone in milestones.values() if milestone.is_open]
    return "\n".join(
        f"{milestone.title}: {milestone.vision}" for milestone in open_milestones if milestone.vision
    )


def _groups(milestones: Mapping[str, Milestone], commands: list[str], ledger: ConversionNotes) -> list[Plain]:
    ids = valid_ids(milestones, otherwise="milestone")
    groups: list[Plain] = []
    for milestone in milestones.values():
        writer = MilestoneWriter(milestone, commands)
        if milestone.left_out:
            continue
        if milestone.is_open:
            needs = [ids[need] for need in milestone.open_needs(milestones)]
            groups.append(writer.group(ids[milestone.id], needs))
        else:
            writer.note_left_out()
    if not groups:
        _report_nothing_to_do(milestones, ledger)
    note_left_out(milestones.values())
    return groups


def _report_nothing_to_do(milestones: Mapping[str, Milestone], ledger: ConversionNotes) -> None:
    # If nothing can be converted, the notes of left-out milestones become errors.
    faults = [fault for milestone in milestones.values() for fault in milestone.ledger.faults()]
    for fault in faults:
        ledger.fault(fault)
    if not faults:
        first = replace(next(iter(milestones.values())).source, ledger=ledger)
        first.fault(1, "every slice of every milestone is done; there is nothing to convert")


def _preferences(sources: list[ConversionSource]) -> tuple[dict[str, Plain], list[str]]:
    """Returns the settings of the plan and the commands that verify each slice, from the first of the files."""
    for ignored in sources[1:]:
        ignored.note(1, f"the file {NOT_CARRIED_OVER}", f"the preferences are those in {sources[0].file}")
    top = _preference_fields(sources[0]) if sources else None
    if top is None:
        return {}, []
    settings = _settings(top)
    commands = [word.text for word in top.words("verification_commands")]
    top.rest()
    return settings, commands


def _preference_fields(source: ConversionSource) -> Fields | None:
    if source.file.lower().endswith(".md"):
        return front_matter(source)
    return Fields(source.table(), source) if source.text.strip() else None


def _settings(top: Fields) -> dict[str, Plain]:
    ceiling = top.amount("budget_ceiling")
    parallel = top.fields("parallel")
    if parallel is None:
        return {"budget": ceiling}
    parallel.named("parallel")
    own = parallel.amount("budget_ceiling")
    # Weft has one budget for the plan, and `parallel` is the more specific place.
    if own is not None and ceiling is not None:
        top.note(
            "budget_ceiling", f"budget_ceiling {NOT_CARRIED_OVER}", "that of `parallel` is the plan's budget"
        )
    enabled = parallel.flag("enabled")
    merge = without_empty(
        {
            "when": parallel.choice("merge_strategy", _MERGE_WHEN),
            "mode": parallel.choice("auto_merge", _MERGE_MODE),
        }
    )
    settings: dict[str, Plain] = {
        "max_parallel": _workers(parallel),
        "policy": {True: "parallel", False: "serial"}.get(enabled) if enabled is not None else None,
        "budget": ceiling if own is None else own,
        "merge": merge or None,
    }
    parallel.rest()
    return settings


def _workers(parallel: Fields) -> int | None:
    workers = parallel.number("max_workers", least=1, most=MOST_WORKERS)
    if workers is not None:
        message = f"max_workers becomes max_parallel: {workers}"
        parallel.note("max_workers", message, "gsd counts milestones by it, Weft counts slices")
    return workers
