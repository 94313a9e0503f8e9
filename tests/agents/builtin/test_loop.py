from hypothesis import given
from hypothesis import strategies as st

from agents.builtin.talks import calls, saids, texts
from weft.agents.builtin.conversation import (
    Conversation,
    ModelAnswer,
    ModelMessage,
    ToolCall,
    ToolResults,
    UserMessage,
)
from weft.agents.builtin.loop import AskModel, End, UseTools, add_answer, add_results, decide_next, is_done

START: Conversation = (UserMessage("Do it"),)
LIST = ToolCall("1", "list_files", {})
DONE = ToolCall("2", "done", {"text": "All done"})


def move(
    *more: ModelMessage | ToolResults | UserMessage, asked: int = 0, most: int = 9
) -> AskModel | UseTools | End:
    return decide_next((*START, *more), requests=asked, most_requests=most)


def test_the_model_is_asked_first() -> None:
    assert move() == AskModel()


def test_calls_are_done_and_the_model_is_asked_again() -> None:
    message = ModelMessage("I will look", (LIST,))
    assert move(message) == UseTools((LIST,))
    assert move(message, ToolResults((("1", "a.py"),))) == AskModel()


def test_text_without_a_call_ends_the_work() -> None:
    assert move(ModelMessage("That is all")) == End("That is all")


def test_a_call_of_done_ends_the_work_once_all_calls_are_answered() -> None:
    message = ModelMessage("", (LIST, DONE))
    assert move(message) == UseTools((LIST, DONE))
    assert move(message, ToolResults((("1", ""), ("2", "")))) == End("All done")


def test_a_call_of_done_that_is_wrong_is_no_end() -> None:
    wrong = ToolCall("1", "done", {}, "no JSON")
    assert move(ModelMessage("", (wrong,)), ToolResults((("1", "error: no JSON"),))) == AskModel()


def test_a_model_without_an_answer_has_failed() -> None:
    assert move(ModelMessage(" \n")) == End(failed="the model said nothing and called nothing")


def test_the_model_is_not_asked_more_often_than_it_may_be() -> None:
    message, results = ModelMessage("", (LIST,)), ToolResults((("1", ""),))
    assert move(message, results, asked=1, most=2) == AskModel()
    stopped = "stopped after 2 turns, before the model had finished; `--max-turns` allows more"
    assert move(message, results, asked=2, most=2) == End(failed=stopped)
    assert "after 1 turn, before" in str(move(message, results, asked=1, most=1))


def test_an_end_counts_even_if_no_turn_is_left() -> None:
    assert move(ModelMessage("", (DONE,)), ToolResults((("2", ""),)), asked=9) == End("All done")


def test_a_conversation_that_has_ended_continues_with_another_prompt() -> None:
    assert move(ModelMessage("", (DONE,)), ToolResults((("2", ""),)), UserMessage("More")) == AskModel()


def test_results_without_anything_before_them_are_asked_about() -> None:
    assert decide_next((ToolResults((("1", ""),)),), requests=0, most_requests=1) == AskModel()


def test_an_answer_that_was_cut_off_is_resumed() -> None:
    talk = add_answer(START, ModelAnswer(ModelMessage("I wi"), is_cut=True))
    assert talk[1] == ModelMessage("I wi")
    assert "cut off" in talk[2].text  # type: ignore[union-attr]
    assert add_answer(START, ModelAnswer(ModelMessage(""), is_cut=True))[1] == ModelMessage("…")
    assert decide_next(talk, requests=1, most_requests=2) == AskModel()


def test_the_last_call_of_an_answer_that_was_cut_off_is_not_done() -> None:
    message = add_answer(START, ModelAnswer(ModelMessage("", (LIST, DONE)), is_cut=True))[-1]
    assert isinstance(message, ModelMessage)
    assert [bool(call.wrong) for call in message.calls] == [False, True]
    assert not is_done(message.calls[1])


answers = st.tuples(saids, st.booleans()).map(lambda one: ModelAnswer(one[0], is_cut=one[1]))


@given(st.lists(answers, min_size=1, max_size=8), st.integers(1, 6))
def test_whatever_the_model_says_it_ends_in_time_and_owes_no_result(
    given: list[ModelAnswer], most: int
) -> None:
    """Each call has exactly one result, in its order, before the model is asked again."""
    talk, requests = START, 0
    for _ in range(4 * len(given) + 4 * most):
        match decide_next(talk, requests=requests, most_requests=most):
            case End():
                break
            case AskModel():
                talk = add_answer(talk, given[requests % len(given)])
                requests += 1
            case UseTools(made):
                talk = add_results(talk, tuple((call.id, "out") for call in made))
    assert isinstance(decide_next(talk, requests=requests, most_requests=most), End)
    assert requests <= most
    owed = [message.calls for message in talk if isinstance(message, ModelMessage) and message.calls]
    paid = [message.results for message in talk if isinstance(message, ToolResults)]
    assert [[call.id for call in some] for some in owed] == [[name for name, _ in some] for some in paid]


@given(calls, texts)
def test_only_a_sound_call_of_done_is_one(call: ToolCall, text: str) -> None:
    assert is_done(call) == (call.name == "done" and not call.wrong)
