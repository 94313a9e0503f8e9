"""`weft decompose`: proposes a plan for a change over many files."""

import os
from pathlib import Path

import click
from msgspec import Struct

from weft.app.decompose.refinement import Refine
from weft.app.project.files import InputSource, save_text
from weft.cli.completions import agent_names
from weft.cli.effects import CommandEffect, WeftCommand
from weft.cli.output import examples, note, note_lines, show_json, show_lines, write_text
from weft.cli.plan_options import directory, json_option, out_option, written_to
from weft.errors import InputError


@click.command(
    cls=WeftCommand,
    effect=CommandEffect.READS,
    changes_with=("refine",),
    epilog=examples(
        "weft decompose --goal 'Replace the old logger' --out weft.yaml",
        "weft decompose src --goal 'Add types' --files '**/*.py' --dry-run",
        "weft decompose --goal 'Add types' --refine claude --out weft.yaml",
    ),
    short_help="Propose a plan for a change over many files.",
)
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path())
@click.option("--goal", metavar="TEXT", required=True, help="The goal of the change; every agent sees it.")
@click.option("--files", metavar="GLOB", multiple=True, help="Use only files that match; repeatable.")
@click.option("--exclude", metavar="GLOB", multiple=True, help="Leave out files that match; repeatable.")
@click.option("--max-depth", metavar="N", type=int, default=6, show_default=True, help="Levels of subplans.")
@click.option(
    "--min-files", metavar="N", type=int, default=3, show_default=True, help="The fewest files in a slice."
)
@click.option(
    "--max-files", metavar="N", type=int, default=25, show_default=True, help="The most files in a slice."
)
@click.option(
    "--max-tokens",
    metavar="N",
    type=int,
    default=100_000,
    show_default=True,
    help="The most tokens in a slice.",
)
@click.option(
    "--no-order",
    is_flag=True,
    help="Give slices no dependencies: for a change that does not affect other files.",
)
@click.option(
    "--refine", metavar="AGENT", shell_complete=agent_names,
    help="Ask this agent for better names, a prompt for each slice, and files that belong elsewhere.",
)  # fmt: skip
@click.option("--model", metavar="MODEL", help="For --refine: the agent's model.")
@click.option(
    "--timeout", metavar="SECONDS", type=click.FloatRange(0.1, 3600),
    help="For --refine: the time limit for each answer [600].",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Show the slices without writing a plan.")
@out_option
@click.option("--force", is_flag=True, help="Replace the file of --out even if its content differs.")
@json_option
def decompose(  # noqa: PLR0913 - as many as there are options
    *,
    folder: str,
    goal: str,
    files: tuple[str, ...],
    exclude: tuple[str, ...],
    max_depth: int,
    min_files: int,
    max_files: int,
    max_tokens: int,
    no_order: bool,
    refine: str | None,
    model: str | None,
    timeout: float | None,
    dry_run: bool,
    out: str | None,
    force: bool,
    as_json: bool,
) -> int:
    """Split the files of DIR into slices that agents can work on at once, and write a plan of them.

    Files are grouped by folders, by references between files (Python, JavaScript, TypeScript, Go,
    Rust, Java, C, C++) and by what changed together in git. A slice that uses another one waits for it. The same
    files give the same plan. Read it before you run it: it follows from your files, not from your goal. Your
    changes in it are not overwritten without --force.

    In a repository the files are those that git tracks. GLOB starts at the top of the repository, as in plans; put
    it in quotes, or your shell expands it.

    With --refine, an agent of the plan here, or one that Weft knows, gets the parts; this call costs money. It
    works in an empty directory. Its answer must keep the same limits; without a valid answer after the second
    try, no plan is written.

    Exit code: 0; 1 if the agent gave no valid answer; 2 if there are no such files, there is no such
    agent, or the plan cannot be written.
    """
    from weft.app.decompose.decompose import propose
    from weft.cli.text.decompose import part_data, part_lines, show_progress, summary_lines
    from weft.decompose.model import Limits

    limits = Limits(
        max_depth=max_depth,
        min_files_per_subplan=min_files,
        max_files_per_subplan=max_files,
        max_tokens_per_subplan=max_tokens,
    )
    written = None if dry_run else written_to(out)
    target = None if written is None else _Target(Path(directory(), written), written, force)
    by_agent = _refine(refine, model, timeout)
    if target is not None:
        # Before the files are read, which can take a minute.
        target.refuse_early(is_costly=by_agent is not None)
    with show_progress(as_json=as_json) as watch:
        proposal = propose(
            Path(directory(), folder),
            goal,
            globs=files,
            exclude=exclude,
            limits=limits,
            environ=os.environ,
            ordered=not no_order,
            watch=watch,
            refine=by_agent,
        )
    if target is not None:
        target.refuse(proposal.text)
        save_text(
            proposal.text, target.name, source=InputSource(name="-", directory=directory(), holds="plan")
        )
    if as_json:
        show_json(part_data(proposal, written))
        return 0
    if dry_run:
        show_lines(part_lines(proposal.whole))
    elif written is None:
        write_text(proposal.text)
    note_lines(summary_lines(proposal))
    if written is not None:
        note(f"wrote {written}")
    return 0


def _refine(name: str | None, model: str | None, timeout: float | None) -> Refine | None:
    if name is not None:
        from weft.cli.text.refine_agent import refine_by

        return refine_by(name, model=model, timeout=timeout)
    for option, value in (("--model", model), ("--timeout", timeout)):
        if value is not None:
            raise InputError(f"{option} needs --refine AGENT")
    return None


class _Target(Struct, frozen=True):
    """The file to write. People edit plans, so a file with other contents is only replaced by --force."""

    path: Path
    name: str
    force: bool

    def refuse_early(self, *, is_costly: bool) -> None:
        """Raises an error before any work is done if the file cannot be written or would be refused afterwards."""
        if not self.path.parent.is_dir():
            raise InputError(f"cannot write {self.name}: there is no such directory; make it first")
        # Asking an agent costs money, and its answer is hardly ever equal to the old file.
        if is_costly and not self.force and self.path.is_file():
            raise self._exists_error()

    def refuse(self, text: str) -> None:
        """Raises an error if the file exists with contents other than `text`."""
        if not self.force and self.path.is_file() and not self._contains(text):
            raise self._exists_error()

    def _contains(self, text: str) -> bool:
        try:
            return self.path.read_bytes() == text.encode()
        except OSError:
            return False

    def _exists_error(self) -> InputError:
        return InputError(
            f"{self.name} exists with other content; name another file after --out, or replace it with --force"
        )
