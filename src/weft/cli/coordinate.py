"""`weft coordinate`: what `weft start` starts, and nobody else. It runs a plan as `weft run` does, unseen."""

import os

import click

from weft.cli.plan_options import directory, flag_options, plan_source
from weft.cli.run_options import plan_and_ids, words_argument


@click.command(hidden=True)
@words_argument
@flag_options
@click.option("--isolation")
@click.option("--fresh", is_flag=True)
@click.option("--ready-to", "ready", type=int, required=True)
def coordinate(*, words: tuple[str, ...], fresh: bool, ready: int, **flags: str | None) -> int:
    """Run a plan in the background; `weft start` does this for you."""
    from weft.app.background import Word
    from weft.app.run_beginning import Wish
    from weft.app.runs import run_plan
    from weft.cli.run_unseen import Absent

    plan, ids = plan_and_ids(words, directory())
    os.set_inheritable(ready, False)
    audience = Absent(Word(ready), plan=plan)
    state = run_plan(Wish(source=plan_source(plan), flags=flags, fresh=fresh, ids=ids), audience)
    audience.ends(state)
    return audience.exit_code(state)
