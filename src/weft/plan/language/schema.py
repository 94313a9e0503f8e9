"""The JSON Schema of plans and configurations, for editors and other tools.

It is made from the tables that the loader reads by, and says the same as they do, except where JSON Schema cannot:

- It takes 4.0 and 4e0 for whole numbers; the loader does not. A YAML tool may also read 0x10 as one.
- Amounts of money may have any number of decimals; the loader allows six.
- The ends of a range such as 20..5 may stand in the wrong order.
- A glob may hold a `[` without its `]`, or a range such as `[z-a]`.
- Numbers of more digits than anybody writes, NUL in a text, and infinity or NaN in an `output_schema`, pass.
- Some tools, Python's among them, let a pattern's end match before a newline that ends the text.

References from one place of a plan to another (ids, agents, pools, templates) are the loader's alone.
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
    """The root's keys stand at the top, where every editor finds them; the other records under `$defs`."""
    definition = root.definition()
    head = {"$schema": DIALECT, "$id": urn} | definition | {"title": title}
    parts = _parts_of(definition)
    return head | {"$defs": parts} if parts else head


def _parts_of(definition: Schema) -> dict[str, Schema]:
    """The records that the definition refers to, and those that they refer to."""
    by_reference = {record.schema()["$ref"]: record for record in RECORDS}
    parts: dict[str, Schema] = {}
    open_definitions = [definition]
    while open_definitions:
        for reference in _references(open_definitions.pop()):
            record = by_reference[reference]
            if record.title not in parts:
                parts[record.title] = record.definition()
                open_definitions.append(parts[record.title])
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
