"""The JSON Schema of plans and configurations, for editors and other tools.

It is generated from the tables of the loader and means the same, except where JSON Schema cannot express it:

- It accepts 4.0 and 4e0 as whole numbers; the loader does not. A YAML tool may also read 0x10 as one.
- Amounts of money may have any number of decimals; the loader allows six.
- The ends of a range may be in the wrong order, as in 20..5.
- A glob may contain a `[` without its `]`, or a range such as `[z-a]`.
- Numbers with very many digits, NUL in a text, and infinity or NaN in an `output_schema` are accepted.
- Some tools, including Python's, let the end of a pattern match before a final newline.

Only the loader checks references within a plan (ids, agents, pools, templates).
"""

from collections.abc import Iterator
from typing import Any

from weft.plan.language.reader import Schema
from weft.plan.language.records import Record
from weft.plan.language.tables import CONFIG, PLAN, RECORDS, VERSION

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def plan_schema() -> Schema:
    return _with_parts(PLAN, f"urn:weft:plan:{VERSION}", "A plan of Weft")


def config_schema() -> Schema:
    return _with_parts(CONFIG, f"urn:weft:config:{VERSION}", "A configuration of Weft")


def _with_parts(root: Record, urn: str, title: str) -> Schema:
    """Returns the schema of a record.

    Its keys are at the top, where every editor finds them; other records are in `$defs`.
    """
    definition = root.definition()
    # A URN and not a URL: there is no server that editors should ask.
    head = {"$schema": DIALECT, "$id": urn} | definition | {"title": title}
    parts = _parts_of(definition)
    return head | {"$defs": parts} if parts else head


def _parts_of(definition: Schema) -> dict[str, Schema]:
    """Returns the records that the definition refers to, directly or indirectly."""
    by_reference = {record.schema()["$ref"]: record for record in RECORDS}
    parts: dict[str, Schema] = {}
    open_definitions = [definition]
    while open_definitions:
        for reference in _references(open_definitions.pop()):
            record = by_reference[reference]
            if record.title not in parts:
                parts[record.title] = record.definition()
                open_definitions.append(parts[record.title])
    # In the order of the tables, so that the schema is the same every time.
    return {record.title: parts[record.title] for record in RECORDS if record.title in parts}


def _references(schema: Any) -> Iterator[str]:  # noqa: ANN401 - any part of a schema
    match schema:
        case {"$ref": str(reference)}:
            yield reference
        case dict():
            for value in schema.values():  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
                yield from _references(value)
        case list():
            for value in schema:  # pyright: ignore[reportUnknownVariableType]
                yield from _references(value)
        case _:
            return
