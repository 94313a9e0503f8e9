"""`weft answer`: answers a question that a step of a run asks, or lists the open questions."""

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
@click.argument("reply", metavar="[yes|no]", required=False, type=click.Choice(("yes", "no")))
@click.option("--text", metavar="TEXT", default="", help="A comment; it becomes the result of the step.")
@run_option
@json_option
def answer(*, name: str | None, reply: str | None, text: str, run_id: str | None, as_json: bool) -> int:
    """Answer the question of the step STEP of the subplan ID; without arguments, list the open questions.

    With yes the slice continues; with no the step fails. If no coordinator runs the plan now, the answer is
    stored and takes effect when the run is resumed.

    Exit code: 0; 2 if there is no such question; 4 if there are unanswered questions.
    """
    if name is None:
        return _list_questions(run_id, as_json=as_json)
    if reply is None:
        raise click.UsageError(f"answer yes or no, as in: weft answer {name} yes")
    return _give_answer(name, run_id, accepted=reply == "yes", text=text, as_json=as_json)


def _list_questions(run_id: str | None, *, as_json: bool) -> int:
    from msgspec import to_builtins

    from weft.app.control.questions import open_questions
    from weft.app.record.journal import open_book

    with open_book(directory(), run_id) as recorded_run:
        questions = open_questions(recorded_run)
        run = recorded_run.run.run
    if as_json:
        show_json({"run": run, "questions": [to_builtins(question) for question in questions]})
    elif questions:
        width = max(len(question.name) for question in questions)
        show_lines(
            line
            for question in questions
            for line in _lines(f"{question.name:<{width}}", question.text, _answer_suffix(question.answer))
        )
    else:
        note(f"run {run} has no open question")
    return EXIT_WAITING if any(not question.answer for question in questions) else 0


def _lines(name: str, question: str, answer: str) -> list[str]:
    """Returns the question's first line next to its name, and the other lines below it."""
    first, *more = question.splitlines() or [""]
    return [f"{name}  {first}{answer}", *(f"{'':<{len(name)}}  | {line}" for line in more)]


def _answer_suffix(answer: str) -> str:
    return f"  (answered: {answer})" if answer else ""


def _give_answer(name: str, run_id: str | None, *, accepted: bool, text: str, as_json: bool) -> int:
    from weft.app.control.control import control_requests_of
    from weft.app.control.questions import answer as record_answer
    from weft.app.record.journal import open_book
    from weft.engine.messages.facts import ControlState

    answer = "yes" if accepted else "no"
    with open_book(directory(), run_id) as recorded_run:
        question = record_answer(recorded_run, name, accepted=accepted, text=text)
        # Asked after the answer is written: a coordinator that leaves in between has taken it up, or the next one
        # will.
        takes_requests, command = recorded_run.takes_requests(), recorded_run.run_command()
        is_paused = control_requests_of(recorded_run).of(question.subplan) is not ControlState.GO
        run = recorded_run.run.run
    if as_json:
        show_json(
            {
                "run": run,
                "subplan": question.subplan,
                "step": question.step,
                "answer": answer,
                "heard": takes_requests,
            }
        )
    elif takes_requests:
        note(f"answered {question.name}: {answer}")
    else:
        note(f"answered {question.name}: {answer}; the run is not active; to resume it, type: {command}")
    if is_paused and not as_json:
        note(f"{question.subplan} is paused; to resume it, type: weft resume {question.subplan}")
    return 0
