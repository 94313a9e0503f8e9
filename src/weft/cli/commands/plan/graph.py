"""`weft graph`: draws a plan or its net."""

from pathlib import Path

import click

from weft.app.project.files import save_text
from weft.cli.effects import CommandEffect, WeftCommand
from weft.cli.output import examples, note, show_json, write_text
from weft.cli.plan_options import (
    at_work_on_a_plan,
    json_option,
    out_option,
    plan_argument,
    plan_source,
    written_to,
)

SUBJECTS = ("tree", "deps", "net")
FORMATS = ("mermaid", "dot", "svg", "pnml")
ENDINGS = {
    ".mmd": "mermaid", ".mermaid": "mermaid", ".dot": "dot", ".gv": "dot", ".svg": "svg",
    ".pnml": "pnml", ".xml": "pnml",
}  # fmt: skip


@click.command(
    cls=WeftCommand,
    effect=CommandEffect.READS,
    epilog=examples(
        "weft graph --out plan.svg",
        "weft graph --of store/model --format dot | dot -Tpdf > model.pdf",
    ),
    short_help="Draw a plan or its net.",
)
@plan_argument
@click.option(
    "--what", type=click.Choice(SUBJECTS),
    help="The tree of subplans, what depends on what [deps], or the Petri net.",
)  # fmt: skip
@click.option(
    "--format", "as_format", type=click.Choice(FORMATS),
    help="The format; default: the file name extension of --out, else mermaid.",
)  # fmt: skip
@click.option("--of", metavar="PATH", help="Draw only this subplan's part of the net.")
@click.option("--full", is_flag=True, help="Do not fold a large plan into fewer boxes.")
@out_option
@json_option
def graph(  # noqa: PLR0913 - one for each option
    *,
    plan: str | None,
    what: str | None,
    as_format: str | None,
    of: str | None,
    full: bool,
    out: str | None,
    as_json: bool,
) -> int:
    """Draw PLAN: what depends on what, its tree, or its net.

    mermaid and dot are texts for other programs to draw, svg is a picture as it is, and pnml is a net for tools
    that analyse one. A large plan is folded: groups of slices become one box each. With --json, the text or the
    name of the file is in the envelope.

    PLAN is weft.yaml or weft.yml by default, and standard input if it is -.
    """
    file = written_to(out)
    # `--of` has a meaning for nets only, so it implies one.
    what = what or ("deps" if of is None else "net")
    as_format = as_format or _format_of(file)
    _check_usage(what, as_format, of)
    with at_work_on_a_plan(as_json=as_json):
        from weft.app.inspect import plan_pictures

        source = plan_source(plan)
        text = plan_pictures.graph(
            source, plan_pictures.PictureSubject(what), plan_pictures.Format(as_format), of=of, full=full
        )
    if file is not None:
        save_text(text, file, source=source)
        note(f"wrote {file}")
    if as_json:
        show_json({"what": what, "format": as_format, **({"text": text} if file is None else {"file": file})})
    elif file is None:
        write_text(text)
    return 0


def _format_of(file: str | None) -> str:
    if file is None:
        return "mermaid"
    picture_format = ENDINGS.get(Path(file).suffix.lower())
    if picture_format is None:
        raise click.UsageError(f"The name {file!r} has no known extension; add --format {'|'.join(FORMATS)}")
    return picture_format


def _check_usage(subject: str, as_format: str, of: str | None) -> None:
    if as_format == "pnml" and subject != "net":
        raise click.UsageError("PNML holds nets only; add --what net")
    if of is not None and subject != "net":
        raise click.UsageError(f"--of names a part of the net; it has no meaning with --what {subject}")
