"""The questions of a run, and the answers of people.

An answer is a request in the journal. The coordinator takes it up within a moment; without one, the next
coordinator does. Until then the question stays open, and a second answer is refused.
"""

import time

from msgspec import Struct, structs

from weft.app.record.journal import RecordedRun
from weft.app.views.run_fold import RunFold
from weft.errors import InputError
from weft.plan.text.problems import suggestion
from weft.terms import FINISHED


class OpenQuestion(Struct, frozen=True):
    subplan: str
    step: str
    text: str
    answer: str = ""
    """`yes` or `no` if the run has an answer that it has not taken up yet."""

    @property
    def name(self) -> str:
        return f"{self.subplan}:{self.step}"


def open_questions(recorded_run: RecordedRun) -> list[OpenQuestion]:
    """Returns the open questions of the run, the oldest first."""
    # The events of a finished run may end with a question, but nothing would ever read the answer.
    if recorded_run.run.state in FINISHED:
        return []
    fold = RunFold()
    fold.apply_all(recorded_run.events())
    asked = (
        (question, path, step)
        for path, row in fold.by_path.items()
        for step, question in row.questions.items()
    )
    # Questions of one moment are ordered by the firing, so that the list is the same at each call.
    oldest_first = sorted(asked, key=lambda each: (each[0].asked_at, each[0].firing))
    questions = {
        (path, step): OpenQuestion(path, step, question.text) for question, path, step in oldest_first
    }
    # Requests that wait here are answers that no coordinator has turned into facts yet.
    for request in recorded_run.journal.requests(recorded_run.run.run):
        key = (request.subplan, request.step)
        if (
            key in questions and not questions[key].answer
        ):  # of two answers at the same moment the first counts
            verdict = "yes" if request.data.get("accepted") else "no"
            questions[key] = structs.replace(questions[key], answer=verdict)
    return list(questions.values())


def answer(recorded_run: RecordedRun, name: str, *, accepted: bool, text: str) -> OpenQuestion:
    """Writes an answer for the coordinator or, without one, for the next."""
    question = _find_question(recorded_run, name)
    if question.answer:
        raise InputError(
            f"{question.name} has been answered already: {question.answer}; the run has not handled it yet"
        )
    data: dict[str, object] = {"accepted": accepted, "text": text}
    recorded_run.journal.ask(
        recorded_run.run.run,
        "answer",
        subplan=question.subplan,
        step=question.step,
        data=data,
        at=time.time(),
    )
    return question


def _find_question(recorded_run: RecordedRun, name: str) -> OpenQuestion:
    """Returns the question of a step, `release:sure`, or the only question of a subplan, `release`."""
    questions = open_questions(recorded_run)
    if not questions:
        raise InputError(
            f"run {recorded_run.run.run} has no open question; to see its events, type: weft events"
        )
    subplan, _, step = name.partition(":")
    matches = [
        question for question in questions if question.subplan == subplan and step in {"", question.step}
    ]
    if len(matches) == 1:
        return matches[0]
    if matches:
        names = ", ".join(question.name for question in matches)
        raise InputError(f"{name} asks several questions; name one of: {names}")
    all_names = [question.name for question in questions]
    raise InputError(f"there is no question {name!r}{suggestion(name, all_names)}")
