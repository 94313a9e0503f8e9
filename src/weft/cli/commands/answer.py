"""`weft answer`: settles a question that a run asks."""

import click

from weft.cli.completions import question_ids
from weft.cli.effects import CommandEffect, WeftCommand
from weft.cli.output import examples, note, show_json, show_lines
from weft.cli.plan_options import directory, json_option
from weft.cli.run_options import run_option

EXIT_WAITING = 4


@click.command(
    cls=WeftCommand,
    effect=CommandEffect.CHANGES,
    epilog=examples(
        "weft answer", "weft answer release:sure yes", 'weft answer release:sure no --text "not on a Friday"'
    ),
    short_help="Answer a question that a run asks, or list the open ones.",
)
@click.argument("name", metavar="[ID[:STEP]]", required=False, shell_complete=question_ids)
@click.argument("said", metavar="[yes|no]", required=False, type=click.Choice(("yes", "no")))
@click.option("--text", metavar="TEXT", default="", help="Some words to go with it; the step's result.")
@run_option
@json_option
def answer(*, name: str | None, said: str | None, text: str, run_id: str | None, as_json: bool) -> int:
    """Answer the question of the step STEP of the subplan ID; without arguments, list what is asked.

    With yes the slice goes on; with no the step has failed. The answer is kept if nobody runs the plan now, and
    counts when it goes on.

    Exit code: 0; 2 if there is no such question; 4 if there are questions that nobody has answered.
    """
    if name is None:
        return _list(run_id, as_json=as_json)
    if said is None:
        raise click.UsageError(f"say yes or no, as in: weft answer {name} yes")
    return _give(name, run_id, accepted=said == "yes", text=text, as_json=as_json)


def _list(run_id: str | None, *, as_json: bool) -> int:
    from msgspec import to_builtins

    from weft.app.control.questions import open_questions
    from weft.app.record.journal import open_book

    with open_book(directory(), run_id) as book:
        questions = open_questions(book)
        run = book.run.run
    if as_json:
        show_json({"run": run, "questions": [to_builtins(question) for question in questions]})
    elif questions:
        width = max(len(question.name) for question in questions)
        show_lines(
            line
            for question in questions
            for line in _lines(f"{question.name:<{width}}", question.text, _given(question.answer))
        )
    else:
        note(f"run {run} asks nothing now")
    return EXIT_WAITING if any(not question.answer for question in questions) else 0


def _lines(name: str, question: str, answer: str) -> list[str]:
    """The question behind its name; what it is about follows below."""
    first, *more = question.splitlines() or [""]
    return [f"{name}  {first}{answer}", *(f"{'':<{len(name)}}  | {line}" for line in more)]


def _given(answer: str) -> str:
    return f"  (answered: {answer})" if answer else ""


def _give(name: str, run_id: str | None, *, accepted: bool, text: str, as_json: bool) -> int:
    from weft.app.control.control import wishes_of
    from weft.app.control.questions import answer as give
    from weft.app.record.journal import open_book
    from weft.engine.messages.facts import ControlState

    said = "yes" if accepted else "no"
    with open_book(directory(), run_id) as book:
        found = give(book, name, accepted=accepted, text=text)
        is_heard, command = book.is_heard(), book.run_command()
        is_paused = wishes_of(book).of(found.subplan) is not ControlState.GO
        run = book.run.run
    if as_json:
        show_json(
            {"run": run, "subplan": found.subplan, "step": found.step, "answer": said, "heard": is_heard}
        )
    elif is_heard:
        note(f"answered {found.name}: {said}")
    else:
        note(f"answered {found.name}: {said}; nobody runs this now; to have it go on, type: {command}")
    if is_paused and not as_json:
        note(f"{found.subplan} is paused; to let it continue, type: weft resume {found.subplan}")
    return 0
