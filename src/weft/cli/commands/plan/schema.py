"""`weft schema`: prints the JSON Schema of the plan language, or its reference."""

import json

import click

from weft.cli.effects import CommandEffect, WeftCommand
from weft.cli.output import examples, show_json, write_text
from weft.cli.plan_options import json_option


@click.command(
    cls=WeftCommand,
    effect=CommandEffect.READS,
    epilog=examples("weft schema > weft.schema.json", "weft schema --reference | less"),
    short_help="Print the JSON Schema of plans, or the reference.",
)
@click.option(
    "--config", is_flag=True, help="Print the schema of the configuration (.weft/config.yaml) instead."
)
@click.option("--reference", is_flag=True, help="Print all keys with their meaning, in Markdown.")
@json_option
def schema(*, config: bool, reference: bool, as_json: bool) -> int:
    """Print the JSON Schema of the plan file.

    An editor with a YAML language server completes and checks a plan whose first line is the comment
    # yaml-language-server: $schema=weft.schema.json
    """
    if reference:
        if config:
            raise click.UsageError("The reference covers plans and configurations; leave out --config")
        _show_reference(as_json=as_json)
    else:
        _show_schema(config=config, as_json=as_json)
    return 0


def _show_reference(*, as_json: bool) -> None:
    from weft.plan.language.reference import plan_reference

    if as_json:
        show_json({"text": plan_reference()})
    else:
        write_text(plan_reference())


def _show_schema(*, config: bool, as_json: bool) -> None:
    from weft.plan.language.schema import config_schema, plan_schema

    json_schema = config_schema() if config else plan_schema()
    if as_json:
        show_json({"schema": json_schema})
    else:
        write_text(json.dumps(json_schema, indent=2, ensure_ascii=False) + "\n")
