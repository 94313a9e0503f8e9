"""Flattens steps of `ail` that contain other steps: `before`, `then` and `do_while`.

- The entries of `before` and `then` belong to their step and have its condition. They become steps before and
  after it. Of an async step only `before` can be flattened: in ail a join gets the answer of the last `then`.
- The steps of a `do_while` become steps of the pipeline. A check with the loop's id follows them, which goes back
  to the first of them until `exit_when` holds. ail runs them one after the other, also those marked async.

ail calls the parts `step::before::0`, `step::then::0` and `loop::inner`; these are their ids here, too.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from weft.plan.convert.ail_file import AilStep, Loop, read_step, read_steps
from weft.plan.convert.fields import NOT_CARRIED_OVER, Fields, LocatedText
from weft.plan.text.document import Items, Scalar, Table

CHECK = "check"
"""The kind of the step that ends a loop or goes back to its start."""


def flatten_steps(steps: list[AilStep]) -> list[AilStep]:
    """Returns the steps with all that they contain, in the order in which they run."""
    return [part for step in steps for part in _flatten(step, within=False)]


def _flatten(step: AilStep, *, within: bool) -> Iterator[AilStep]:
    before = _chain(step, "before")
    yield from (replace(entry, needs=step.needs) for entry in before[:1])
    for prior, entry in pairwise(before):
        yield replace(entry, needs=(LocatedText(prior.id, entry.fields.table),) if step.is_async else ())
    needs = (
        (*step.needs, LocatedText(before[-1].id, step.fields.table))
        if before and step.is_async
        else step.needs
    )
    if step.kind == "do_while":
        yield from _loop(replace(step, needs=needs), within=within)
    else:
        yield replace(step, needs=needs)
    yield from _chain(step, "then")


def _chain(step: AilStep, key: str) -> list[AilStep]:
    node = step.fields.take(key)
    if node is None:
        return []
    if not isinstance(node, Items):
        step.fields.wrong(key, "must be a list of steps")
        return []
    if key == "then" and step.is_async and node.nodes:
        step.fields.note(
            key, f"then {NOT_CARRIED_OVER}", "what waits for an async step waits for that step only"
        )
        return []
    if key == "before" and step.kind == "prompt" and node.nodes:
        message = "before becomes steps before this one"
        step.fields.note(key, message, "what they answer does not take the place of its prompt")
    return [_entry(step, f"{step.id}::{key}::{number}", item) for number, item in enumerate(node.nodes)]


def _entry(parent: AilStep, id_: str, item: Table | Items | Scalar) -> AilStep:
    if isinstance(item, Table):
        fields = Fields(item, parent.fields.source, f"step {id_!r}")
        return replace(
            read_step(fields, id_), is_async=parent.is_async, needs=(), conditions=(parent.fields,)
        )
    fields = Fields(parent.fields.table, parent.fields.source, f"step {id_!r}")
    return AilStep(
        id=id_,
        fields=fields,
        kind="skill",
        word="",
        is_async=parent.is_async,
        needs=(),
        conditions=(parent.fields,),
    )


def _loop(step: AilStep, *, within: bool) -> Iterator[AilStep]:
    fields = step.fields.fields("do_while")
    if fields is None:
        yield replace(step, kind="")
        return
    # Weft's loops are `on_fail` of one pipeline: they cannot be nested in each other, nor run on an async branch.
    if within or step.is_async:
        yield replace(
            step, unsupported="Weft has no loops " + ("within loops" if within else "that are async")
        )
        return
    rounds = fields.number("max_iterations", least=1)
    until = fields.required_text("exit_when")
    body = _body(fields, step)
    if fields.take("max_iterations") is None:
        fields.wrong("max_iterations", "is missing")
    if not body or rounds is None:
        return
    ids = {part.id: f"{step.id}::{part.id}" for part in body}
    loop = Loop(fields=fields, until=until, rounds=rounds, first=ids[body[0].id], ids=ids)
    for number, part in enumerate(body):
        # ail runs the steps of a loop one after the other.
        inner = replace(part, id=ids[part.id], is_async=False, needs=() if number else step.needs)
        conditions = (step.fields, *(() if part.fields.take("condition") is None else (part.fields,)))
        for flat_step in _flatten(replace(inner, conditions=conditions), within=True):
            yield replace(flat_step, loop=loop)
    yield replace(step, kind=CHECK, loop=loop)


def _body(fields: Fields, step: AilStep) -> list[AilStep]:
    if fields.take("pipeline") is None:
        return read_steps(fields.each("steps"), fields, "steps")
    word = fields.text("pipeline") or ""
    inner = Fields(fields.table, fields.source, f"step {step.id!r}")
    return [AilStep(id="run", fields=inner, kind="pipeline", word=word, is_async=False, needs=())]
