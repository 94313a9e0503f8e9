"""An agent is asked about a tree: how often, what it is told, and what becomes of its answers."""

import json

import pytest

from decompose.trees import Tree, signals_for, small_tree
from weft.app.agents.question import AgentReply
from weft.app.decompose.refine import AnswerRefusedError, Refiner
from weft.app.decompose.refinement import Refinement, RefinementCost
from weft.decompose.model import Part
from weft.engine.messages.facts import StepOutcome
from weft.engine.state.outputs import MOST_CHECKED
from weft.errors import InputError, WeftError
from weft.plan.model import Agent

AGENT = Agent(name="thinker", use="claude", model="m-1")
RIGHT = json.dumps({"parts": [{"part": "cli", "id": "commands", "title": "Commands", "prompt": "Fix them"}]})
WRONG = '{"parts": [{"part": "nowhere"}]}'


class Script:
    """An agent that answers as it is told, and remembers what it was asked."""

    def __init__(self, *answers: str | AgentReply) -> None:
        self.answers = [
            AgentReply(agent=AGENT, how=StepOutcome.DONE, answer=item, seconds=1.5, tokens=100, cost=2_000)
            if isinstance(item, str)
            else item
            for item in answers
        ]
        self.prompts: list[str] = []
        self.attempts: list[int] = []
        self.told: list[str] = []

    def call(self, prompt: str, attempt: int) -> AgentReply:
        self.prompts.append(prompt)
        self.attempts.append(attempt)
        return self.answers[len(self.prompts) - 1]

    def refine(self, tree: Tree, *, most_bytes: int = 10_000) -> tuple[Part, Refinement]:
        refiner = Refiner(AGENT, self.call, self.told.append, most_bytes=most_bytes)
        return refiner.refine(tree.whole, tree.signals, tree.limits, "Do it.")


def failed(message: str, how: StepOutcome = StepOutcome.FAILED, until: float | None = None) -> AgentReply:
    return AgentReply(agent=AGENT, how=how, message=message, until=until)


def test_what_it_answers_becomes_of_the_tree_and_what_it_cost_is_reported() -> None:
    script = Script(RIGHT)
    whole, done = script.refine(small_tree())
    assert (whole.parts[1].id, whole.parts[1].title, whole.parts[1].prompt) == (
        "commands",
        "Commands",
        "Fix them",
    )
    spent = RefinementCost(tries=1, seconds=1.5, tokens=100, cost=2_000)
    assert done == Refinement(
        agent="thinker", model="m-1", questions=1, renamed=1, worded=1, moved=0, spent=spent
    )
    assert script.told == ["asking thinker for names, words and moves"]


@pytest.mark.parametrize("around", ["{}", "Here it is:\n```json\n{}\n```\nI hope it helps.", "\n{}\n"])
def test_an_answer_may_have_words_around_it(around: str) -> None:
    whole, _done = Script(around.replace("{}", RIGHT)).refine(small_tree())
    assert whole.parts[1].id == "commands"


def test_a_wrong_answer_is_reported_with_all_that_is_wrong_and_asked_for_again() -> None:
    script = Script('{"parts": [{"part": "nowhere", "id": "A"}]}', RIGHT)
    _whole, done = script.refine(small_tree())
    first, second = script.prompts
    assert second.startswith(first)
    no_id = "an id has up to 64 small letters, digits, - and _, the first a letter or digit"
    assert second.removeprefix(first).splitlines() == [
        "",
        "",
        "You were asked this before, and your answer is invalid:",
        f"  - `id` of part nowhere is A; {no_id}",
        "  - part nowhere does not exist here; there are store, store/model, store/sql, cli",
        "It was:",
        '{"parts": [{"part": "nowhere", "id": "A"}]}',
        "Answer again, with a whole JSON object.",
    ]
    assert script.attempts == [1, 2]
    assert done.spent == RefinementCost(tries=2, seconds=3.0, tokens=200, cost=4_000)
    assert script.told[1].startswith("its answer is invalid: `id` of part nowhere is A")


def test_after_the_second_wrong_answer_it_is_refused_with_the_last_reasons() -> None:
    script = Script("Gladly!", WRONG)
    with pytest.raises(AnswerRefusedError) as caught:
        script.refine(small_tree())
    assert [*caught.value.lines()] == [
        "error: thinker was asked 2 times, and its answer is invalid:",
        "  - part nowhere does not exist here; there are store, store/model, store/sql, cli",
        "nothing has been written; for a plan that no agent has refined, leave out --refine (200 tokens, <$0.01)",
    ]


def test_what_is_no_json_or_too_long_is_refused() -> None:
    script = Script("x" * (MOST_CHECKED + 1), "[1, NaN]")
    with pytest.raises(AnswerRefusedError) as caught:
        script.refine(small_tree())
    assert script.told[1].startswith(
        "its answer is invalid: the answer has 1,048,577 characters; the limit is 1,048,576"
    )
    assert script.prompts[1].endswith(f"It was:\n{'x' * 20_000}…\nAnswer again, with a whole JSON object.")
    assert caught.value.faults[0].startswith("the result is not JSON")


def test_of_very_many_faults_some_are_reported() -> None:
    wrong = json.dumps({"moves": [{"file": f"f{number}", "to": "cli"} for number in range(50)]})
    with pytest.raises(AnswerRefusedError) as caught:
        Script(wrong, wrong).refine(small_tree())
    assert [*caught.value.lines()][20:22] == ["  - there is no file f19 in these parts", "  and 30 more"]


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (failed("exit code 1: no key"), "thinker did not answer: exit code 1: no key; nothing has been written"),
        (
            failed("too much", StepOutcome.LIMITED, until=1_800_000_000.0),
            "too much; limited until 2027-01-15T08:00:00Z;",
        ),
    ],
)  # fmt: skip
def test_an_agent_that_fails_is_an_error_and_is_not_asked_again(reply: AgentReply, said: str) -> None:
    script = Script(reply)
    with pytest.raises(WeftError) as caught:
        script.refine(small_tree())
    assert said in str(caught.value)
    assert (type(caught.value), len(script.prompts)) == (WeftError, 1)


def test_what_one_call_does_not_tell_is_unknown_in_all() -> None:
    silent = AgentReply(agent=AGENT, how=StepOutcome.DONE, answer="no", seconds=1.0)
    _whole, done = Script(silent, RIGHT).refine(small_tree())
    assert done.spent.words() == "tokens unknown, cost unknown"


# --- in several questions ---


def names(*parts: tuple[str, str]) -> str:
    return json.dumps({"parts": [{"part": part, "id": name, "title": f"New {name}"} for part, name in parts]})


def test_a_large_tree_is_asked_about_in_several_questions_and_groups_by_what_is_new_in_them() -> None:
    script = Script(
        names(("store/model", "tables")), "{}", names(("cli", "commands")), names(("store", "base"))
    )
    whole, done = script.refine(small_tree(), most_bytes=200)
    assert [part.id for part in whole.parts] == ["base", "commands"]
    assert [part.id for part in whole.parts[0].parts] == ["tables", "sql"]
    assert script.prompts[3].endswith(
        "  title: Title of store\n  - tables: New tables\n  - sql: Title of sql"
    )
    assert (done.questions, done.renamed, done.spent.tries) == (4, 3, 4)
    assert script.told[3] == "asking thinker for names, words and moves, question 4 of 4"


def test_a_question_that_is_too_long_is_not_asked() -> None:
    shape = {f"p{number}": [f"{number}/{file:040}" for file in range(4)] for number in range(21)}
    script = Script()
    with pytest.raises(InputError) as caught:
        script.refine(Tree(shape, signals_for(shape)), most_bytes=200)
    assert str(caught.value) == (
        "thinker would be asked 21 questions, more than the limit of 20; name a DIR in it, choose "
        "with --files, or leave out --refine"
    )
    assert script.prompts == []
