"""`weft convert`: converts plan files of other systems to a Weft plan."""

from typing import cast

import click

from weft.app.project.files import InputSource, save_text
from weft.cli.effects import CommandEffect, WeftCommand
from weft.cli.output import examples, note, note_lines, show_json, write_text
from weft.cli.plan_options import at_work_on_a_plan, directory, json_option, out_option, written_to

SYSTEMS = ("brunch", "ail", "gsd")
EXIT_REFUSED = 1


@click.command(
    cls=WeftCommand,
    effect=CommandEffect.READS,
    epilog=examples(
        "weft convert pipeline.yaml --from ail --out weft.yaml",
        "weft convert .gsd --from gsd > weft.yaml",
    ),
    short_help="Turn a plan of another system into one of Weft.",
)
@click.argument("file", type=click.Path(allow_dash=True))
@click.option("--from", "system", type=click.Choice(SYSTEMS), required=True, help="The system it comes from.")
@out_option
@json_option
def convert(*, file: str, system: str, out: str | None, as_json: bool) -> int:
    """Turn the plan in FILE, made for another system, into a plan of Weft.

    It lists on standard error, line by line, what it could not convert. For gsd FILE is the directory with its
    files; - is standard input. The result is checked as `weft check` would.

    Exit code: 0 if the result is a valid plan; 1 if you must complete it: it is written with its
    errors listed; 2 if FILE cannot be converted.
    """
    out_file = written_to(out)
    source = InputSource(name=file, directory=directory(), holds="plan")
    with at_work_on_a_plan(as_json=as_json):
        from weft.app.inspect.plan_conversion import System, convert_plan

        conversion = convert_plan(source, cast("System", system), shown=out_file or "the converted plan")
    text = conversion.converted.text
    if out_file is not None:
        # A plan with errors is written all the same: the user completes it in an editor.
        save_text(text, out_file, source=source)
        note(f"wrote {out_file}")
    if as_json:
        show_json({**({"text": text} if out_file is None else {"file": out_file}), **conversion.to_json()})
    else:
        if out_file is None:
            write_text(text)
        # On standard error, since standard output is the plan.
        note_lines(map(str, conversion.converted.notes))
        note_lines(conversion.refused.lines() if conversion.refused else ())
    return 0 if conversion.refused is None else EXIT_REFUSED
