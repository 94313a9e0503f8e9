"""`weft convert`: plan files of other systems as a plan of Weft."""

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

    What could not be carried over is said on standard error, line by line. For gsd FILE is the directory with its
    files; - is standard input. The result is checked as `weft check` would.

    Exit code: 0 if the result is a valid plan; 1 if it is not and needs your hand, though it is written all the
    same, and what is wrong with it is said; 2 if FILE makes no sense.
    """
    written = written_to(out)
    source = InputSource(name=file, directory=directory(), holds="plan")
    with at_work_on_a_plan(as_json=as_json):
        from weft.app.inspect.plan_conversion import System, convert_plan

        found = convert_plan(source, cast("System", system), shown=written or "the converted plan")
    text = found.converted.text
    if written is not None:
        save_text(text, written, source=source)
        note(f"wrote {written}")
    if as_json:
        show_json({**({"text": text} if written is None else {"file": written}), **found.to_json()})
    else:
        if written is None:
            write_text(text)
        note_lines(map(str, found.converted.notes))
        note_lines(found.refused.lines() if found.refused else ())
    return 0 if found.refused is None else EXIT_REFUSED
