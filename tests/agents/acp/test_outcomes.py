import pytest

from weft.agents.acp.outcomes import (
    ServerError,
    TurnCompletion,
    TurnFailure,
    describe_sign_in,
    interpret_error,
    interpret_turn_end,
)

GOOSE = {"authMethods": [{"id": "goose-provider"}]}
LATER_GOOSE = {"agentInfo": {"name": "Goose"}}


def ended(result: object, text: str = "Yes.", introduction: object = None) -> object:
    return interpret_turn_end("Fake", introduction, result, text, did_nothing=False)


def test_the_end_of_a_turn_is_the_end_of_the_work() -> None:
    assert ended({"stopReason": "end_turn"}) == TurnCompletion("Yes.")


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        ("refusal", "the model refused to continue (I will not.)"),
        ("max_tokens", "it met the limit on how many tokens it may write or read"),
        ("max_turn_requests", "it met its own limit on how often it asks the model in a turn"),
        ("cancelled", "it reports that its turn was cancelled, although Weft did not cancel it"),
        ("whatever", "it ended its turn for the reason 'whatever'"),
        (None, "it ended its turn for the reason ''"),
    ],
)
def test_every_other_end_is_a_failure_that_is_distinguished(reason: object, why: str) -> None:
    assert ended({"stopReason": reason}, "I will not.") == TurnFailure(why)


def test_an_answer_without_anything_in_it_is_no_end_of_work() -> None:
    assert isinstance(ended(None), TurnFailure)


def test_a_refusal_without_text_is_a_refusal() -> None:
    assert ended({"stopReason": "refusal"}, "") == TurnFailure("the model refused to continue")


# --- goose ---

SAID = "Ran into this error: Rate limit exceeded: slow down.\n\nPlease retry if you think this is transient."


@pytest.mark.parametrize("introduction", [GOOSE, LATER_GOOSE])
def test_an_error_that_goose_reports_in_prose_is_found(introduction: object) -> None:
    end = ended({"stopReason": "end_turn"}, SAID, introduction)
    assert end == ServerError("Rate limit exceeded: slow down.")


def test_a_limit_of_goose_that_it_reports_in_prose_is_found() -> None:
    text = "I've reached the maximum number of actions I can do without user input."
    assert ended({"stopReason": "end_turn"}, text, GOOSE) == TurnFailure(text)


def test_an_answer_of_goose_is_one() -> None:
    assert ended({"stopReason": "end_turn"}, "Yes.", GOOSE) == TurnCompletion("Yes.")


def test_what_another_agent_says_of_errors_is_its_work() -> None:
    assert ended({"stopReason": "end_turn"}, SAID) == TurnCompletion(SAID)


# --- errors ---


@pytest.mark.parametrize(
    ("error", "text", "status"),
    [
        ({"code": 401, "message": "no key"}, "no key", 401),
        ({"code": -32000, "message": "Authentication required"}, "Authentication required", 401),
        ({"code": -32000, "message": "Out of order"}, "Out of order", None),
        ({"code": -32603, "message": "Internal error: error 429"}, "Internal error: error 429", 429),
        ({"code": -1, "message": "Internal error", "data": "Overloaded"}, "Internal error: Overloaded", None),
        ({"code": -1, "message": "no", "data": {"details": "why", "x": 1}}, "no: why", None),
        ({"code": -1, "message": "no", "data": {"message": "no"}}, "no", None),
        ({"code": True}, '{"code": true}', None),
        (None, "it did not say why", None),
    ],
)
def test_an_error_is_reported_with_all_its_words_and_its_status(
    error: object, text: str, status: int | None
) -> None:
    assert interpret_error("session/prompt", error, None) == ServerError(text, status)


def test_an_error_before_the_prompt_says_of_what() -> None:
    assert interpret_error("session/new", {"message": "no"}, None).text == "`session/new` failed: no"


# --- signing in ---


def test_how_to_sign_in_is_said_in_the_words_of_the_server() -> None:
    methods = [
        {"id": "a", "name": "Log in", "description": "Run `x login`"},
        {"id": "b", "name": "Key", "type": "env_var", "vars": [{"name": "X_KEY"}, {"name": "Y_KEY"}]},
    ]
    assert describe_sign_in("Fake", methods) == (
        "sign in to Fake outside of Weft: Log in: Run `x login`; or Key: set X_KEY, Y_KEY"
    )


@pytest.mark.parametrize("methods", [None, [], [{}], "x"])
def test_a_server_that_does_not_say_how_is_named(methods: object) -> None:
    assert describe_sign_in("Fake", methods) == "sign in to Fake outside of Weft, or set its key"
