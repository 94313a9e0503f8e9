"""Reads the pipelines of a file of `ail`: steps and their kinds, and references between them."""

from collections.abc import Mapping
from dataclasses import dataclass

from weft.plan.convert.fields import Fields, LocatedText
from weft.plan.convert.notes import ConversionSource
from weft.plan.convert.order import cycle_among

KINDS = ("prompt", "skill", "pipeline", "action", "context", "do_while", "for_each")


@dataclass(frozen=True, slots=True, kw_only=True)
class AilStep:
    """A step of ail."""

    id: str
    fields: Fields
    kind: str
    """One of KINDS; empty if it is wrong."""
    word: str
    """The action, or the called pipeline."""
    is_async: bool
    needs: tuple[LocatedText, ...]
    conditions: tuple[Fields, ...] = ()
    """The fields with the conditions for this step, if not its own."""
    loop: "Loop | None" = None
    """The loop that it is a step or the check of."""
    unsupported: str = ""
    """Why it cannot be carried over, if that is known already."""

    @property
    def is_join(self) -> bool:
        return self.kind == "action" and self.word == "join"

    @property
    def is_command(self) -> bool:
        return self.kind == "context"

    @property
    def has_schema(self) -> bool:
        return self.fields.table.get("output_schema") is not None

    @property
    def has_response(self) -> bool:
        """Whether ail calls its result a response."""
        return self.kind in {"prompt", "pipeline"} or self.is_join


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """A `do_while`."""

    fields: Fields
    until: str
    """The condition that ends it."""
    rounds: int
    first: str
    """The step that a round starts with."""
    ids: Mapping[str, str]
    """Its steps, by their ids within the loop."""


def read_steps(entries: list[Fields], whole: Fields, key: str) -> list[AilStep]:
    """Returns the steps of one list; an error in them is a fault."""
    if not entries:
        whole.wrong(key, "must be a list of at least one step")
    steps = [_step(fields) for fields in entries]
    earlier: dict[str, AilStep] = {}
    for step in steps:
        _check_needs(step, earlier, {candidate.id for candidate in steps})
        if earlier.setdefault(step.id, step) is not step and step.id:
            step.fields.wrong("id", f"was already given in line {earlier[step.id].fields.line('id')}")
    for step in steps[1:]:
        if step.id == "invocation":
            step.fields.wrong("id", "is that of the first step, and of no other")
    # Without a dependent, nothing would wait for an async step.
    waited_for = {need.text for step in steps for need in step.needs}
    for step in steps:
        if step.is_async and step.id not in waited_for:
            step.fields.wrong("async", "has no effect: no step depends on this one")
    return steps


def _step(fields: Fields) -> AilStep:
    id_ = fields.required_text("id")
    return read_step(fields.named(f"step {id_!r}"), id_)


def read_step(fields: Fields, id_: str) -> AilStep:
    """Returns the step in these fields, with this id."""
    fields.take("id")
    kinds = [kind for kind in KINDS if fields.take(kind) is not None]
    # A pipeline step may have a prompt; it is still a pipeline step.
    if kinds == ["prompt", "pipeline"]:
        kinds = ["pipeline"]
    if len(kinds) != 1:
        fields.source.fault_at(
            fields.table,
            f"{fields.subject}: exactly one of {', '.join(KINDS)} is needed; found: {', '.join(kinds) or 'none'}",
        )
    kind = kinds[0] if kinds else ""
    return AilStep(
        id=id_,
        fields=fields,
        kind=kind,
        word=(fields.text(kind) or "") if kind in {"action", "pipeline"} else "",
        is_async=fields.flag("async") or False,
        needs=fields.words("depends_on"),
    )


def _check_needs(step: AilStep, earlier: Mapping[str, AilStep], ids: set[str]) -> None:
    if step.is_join and not step.needs:
        step.fields.wrong("action", "is a join, and so depends_on is needed")
    for need in step.needs:
        if need.text not in earlier:
            reason = "is this step or a later one" if need.text in ids else "does not exist"
            step.fields.source.fault_at(
                need.node, f"{step.fields.subject}: it depends on step {need.text!r}, which {reason}"
            )


def check_calls(pipelines: Mapping[str, list[AilStep]], source: ConversionSource) -> None:
    """Reports named pipelines that call each other in a cycle."""
    calls = {
        name: [step.word for step in steps if step.kind == "pipeline" and step.word in pipelines]
        for name, steps in pipelines.items()
    }
    cycle = cycle_among(calls, word="pipeline")
    if cycle is not None:
        source.fault(1, f"pipelines call each other in a cycle: {cycle}")
