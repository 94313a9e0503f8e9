import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.acp.talks import BEGUN, CAN, HELLO, Played, prompted
from weft.agents.acp.outcomes import ServerError, TurnCancellation, TurnCompletion, TurnFailure

# --- from the first request to the prompt ---


def test_it_speaks_version_1_and_offers_neither_files_nor_terminals() -> None:
    method, params = Played().asked
    assert method == "initialize"
    assert params["protocolVersion"] == 1
    assert params["clientCapabilities"] == {
        "fs": {"readTextFile": False, "writeTextFile": False},
        "terminal": False,
    }


def test_a_new_conversation_is_started_and_the_prompt_sent() -> None:
    talk = Played().answer(HELLO)
    assert talk.asked == ("session/new", {"cwd": "/work", "mcpServers": []})
    talk.answer(BEGUN)
    assert talk.asked == (
        "session/prompt",
        {"sessionId": "s1", "prompt": [{"type": "text", "text": "Do it"}]},
    )
    assert talk.client.session == "s1"


@pytest.mark.parametrize("version", [2, 0, None, "1", True, 1.0])
def test_another_version_is_refused_with_a_reason(version: object) -> None:
    end = Played().answer({**HELLO, "protocolVersion": version}).client.end
    assert isinstance(end, TurnFailure)
    assert end.why.startswith("Fake speaks version ")
    assert "and Weft speaks 1" in end.why


@pytest.mark.parametrize("begun", [{}, {"sessionId": ""}, {"sessionId": 5}, None, []])
def test_a_conversation_without_a_name_is_none(begun: object) -> None:
    end = prompted(begun).client.end
    assert end == TurnFailure("Fake started a conversation without a session id")


# --- conversations that go on ---


def test_a_conversation_is_loaded_without_what_we_wrote_behind_its_name() -> None:
    talk = Played(session="s1#cost=500").answer(HELLO)
    assert talk.asked == ("session/load", {"cwd": "/work", "mcpServers": [], "sessionId": "s1"})
    assert talk.answer({}).asked[0] == "session/prompt"
    assert talk.client.session == "s1"


def test_what_was_said_before_is_no_answer() -> None:
    talk = Played(session="s1").answer(HELLO).say("An old answer").answer(None)
    talk.update("tool_call", toolCallId="t")
    talk.answer({"stopReason": "end_turn"})
    assert talk.client.end == TurnCompletion("")


def test_one_that_can_only_resume_is_asked_to() -> None:
    hello = {**HELLO, "agentCapabilities": {"sessionCapabilities": {"resume": {}}}}
    assert Played(session="s1").answer(hello).asked[0] == "session/resume"


def test_one_that_cannot_resume_says_so() -> None:
    end = Played(session="s1").answer({"protocolVersion": 1}).client.end
    assert end == TurnFailure(
        "`fake` cannot resume a conversation (no `loadSession`): take `resume` out of the step"
    )


def test_a_fork_is_another_conversation() -> None:
    talk = Played(session="s0", fork=True).answer(HELLO)
    assert talk.asked == ("session/fork", {"cwd": "/work", "mcpServers": [], "sessionId": "s0"})
    assert talk.answer(BEGUN).client.session == "s1"


def test_one_that_cannot_fork_never_continues_with_the_conversation_itself() -> None:
    hello = {**HELLO, "agentCapabilities": {**CAN, "sessionCapabilities": {"fork": None}}}
    end = Played(session="s0", fork=True).answer(hello).client.end
    assert isinstance(end, TurnFailure)
    assert end.why.startswith("Fake cannot fork a conversation (no `session/fork`)")


def test_a_conversation_that_is_gone_is_reported_by_its_name() -> None:
    end = Played(session="s1").answer(HELLO).refuse(code=-32603, message="Internal error").client.end
    assert end == ServerError("the conversation 's1' cannot be resumed: Internal error")


# --- what is chosen before the prompt ---

MODELS = {**BEGUN, "models": {"currentModelId": "a", "availableModels": [{"modelId": "a"}, {"modelId": "b"}]}}
BOTH = {**MODELS, "configOptions": [{"id": "model", "options": [{"value": "b"}]}]}


def test_the_model_of_the_plan_is_chosen() -> None:
    talk = prompted(MODELS, model="b")
    assert talk.asked == ("session/set_model", {"sessionId": "s1", "modelId": "b"})
    assert talk.answer({}).asked[0] == "session/prompt"


def test_a_model_that_is_chosen_already_is_not_chosen_again() -> None:
    assert prompted(MODELS, model="a").asked[0] == "session/prompt"


@pytest.mark.parametrize(
    ("begun", "why"),
    [(BOTH, "Fake offers no model 'c', but b, a; "), (BEGUN, "Fake has no way to choose a model; ")],
)
def test_an_unavailable_model_is_never_replaced_by_another(begun: object, why: str) -> None:
    talk = prompted(begun, model="c")
    assert isinstance(talk.client.end, TurnFailure)
    assert talk.client.end.why.startswith(why)
    assert not talk.client.has_prompted


def test_of_many_models_the_first_are_named() -> None:
    many = [{"modelId": f"m{number}"} for number in range(30)]
    end = prompted({**BEGUN, "models": {"availableModels": many}}, model="c").client.end
    assert isinstance(end, TurnFailure)
    assert "m8, m9, …; " in end.why


def test_a_model_that_is_not_taken_is_an_end() -> None:
    end = prompted(MODELS, model="b").refuse(code=-32602, message="Invalid params").client.end
    assert end == ServerError("`session/set_model` failed: Invalid params")


MODES = {**BEGUN, "modes": {"currentModeId": "yolo", "availableModes": [{"id": "yolo"}, {"id": "plan"}]}}


def test_a_read_only_step_gets_a_mode_that_does_not_write() -> None:
    talk = prompted(MODES, read_only=True)
    assert talk.asked == ("session/set_mode", {"sessionId": "s1", "modeId": "plan"})
    assert prompted(MODES).asked[0] == "session/prompt"


def test_without_such_a_mode_the_work_continues_as_permissions_are_still_refused() -> None:
    talk = prompted(MODES, read_only=True).refuse(code=-1, message="no")
    assert talk.asked[0] == "session/prompt"
    assert talk.logs == ['Fake does not take a mode: {"code": -1, "message": "no"}']


# --- the turn ---


def test_the_result_is_what_was_said_last() -> None:
    talk = prompted().say("I will look.").update("tool_call", toolCallId="t", kind="read", title="a.txt")
    talk.say("It is ").update("usage_update", used=5, size=10).say("done.").answer({"stopReason": "end_turn"})
    assert talk.client.end == TurnCompletion("It is done.")
    assert talk.logs == ["says I will look.", "reads a.txt"]


def test_what_is_said_after_a_permission_is_another_message() -> None:
    talk = prompted().say("I will run it.")
    talk.permission(kind="execute")
    assert talk.say("It ran.").answer({"stopReason": "end_turn"}).client.end == TurnCompletion("It ran.")


def test_what_comes_before_the_prompt_is_no_answer() -> None:
    talk = prompted(MODES, read_only=True).say("An old answer").answer({}).update("tool_call", toolCallId="t")
    assert talk.answer({"stopReason": "end_turn"}).client.end == TurnCompletion("")


def test_without_text_after_the_last_tool_the_earlier_text_counts() -> None:
    talk = prompted().say("I will write it.").update("tool_call", toolCallId="t")
    assert talk.answer({"stopReason": "end_turn"}).client.end == TurnCompletion("I will write it.")


def test_a_turn_without_text_and_tools_is_a_failure() -> None:
    talk = prompted().say(" \n")
    assert talk.answer({"stopReason": "end_turn"}).client.end == TurnFailure(
        "Fake ended its turn without a word, and without having done anything"
    )


def test_another_conversation_is_not_listened_to() -> None:
    talk = prompted().say("Mine.")
    foreign_update = {
        "sessionId": "s2",
        "update": {"sessionUpdate": "agent_message_chunk", "content": {"text": "No."}},
    }
    assert talk.client.receive({"method": "session/update", "params": foreign_update}) == []
    assert talk.client.receive({"method": "something/else", "params": foreign_update}) == []
    assert talk.answer({"stopReason": "end_turn"}).client.end == TurnCompletion("Mine.")


def test_an_answer_to_nothing_is_passed_over() -> None:
    talk = prompted()
    assert talk.client.receive({"id": 99, "result": {"stopReason": "end_turn"}}) == []
    assert talk.client.end is None


def test_after_the_end_nothing_is_heard() -> None:
    talk = prompted().say("Done.").answer({"stopReason": "end_turn"}).say("And more")
    assert talk.client.end == TurnCompletion("Done.")


def test_what_it_costs_is_known_while_it_works() -> None:
    talk = prompted().update("usage_update", used=5, size=9, cost={"amount": 0.25, "currency": "USD"})
    assert talk.client.spending.cost == 250_000


# --- permissions ---


def test_all_is_allowed_once() -> None:
    talk = prompted()
    assert talk.permission(kind="execute", title="make") == "ALLOW_ONCE"
    assert talk.logs == ["runs make"]


def test_the_course_of_a_tool_call_is_in_the_log() -> None:
    talk = prompted().update("tool_call", toolCallId="t", kind="execute", title="bash")
    talk.update("tool_call_update", toolCallId="t", title="make")
    content = [{"type": "content", "content": {"type": "text", "text": "no rule"}}]
    talk.update("tool_call_update", toolCallId="t", status="failed", content=content)
    diff = {"type": "diff", "path": "/w/a.py", "oldText": "a", "newText": "b\nc"}
    talk.update("tool_call", toolCallId="u", kind="edit", locations=[{"path": "/w/a.py"}], content=[diff])
    talk.update("tool_call", toolCallId="v", kind="execute", title="run", rawInput={"command": ["make", "x"]})
    assert talk.logs == ["runs bash", "runs make", "→ failed: no rule", "edits /w/a.py", "runs make x"]


@pytest.mark.parametrize("kind", ["edit", "execute", "other", None])
def test_a_read_only_step_gets_no_permission_to_write(kind: str | None) -> None:
    talk = prompted(read_only=True)
    assert talk.permission(kind=kind, title="x") == "REJECT_ONCE"
    assert talk.logs[-1] == "not allowed: x"
    assert talk.permission(kind="read") == "ALLOW_ONCE"


def test_the_kind_of_a_tool_may_have_been_reported_before() -> None:
    talk = prompted(read_only=True).update("tool_call", toolCallId="t1", kind="edit")
    talk.update("tool_call_update", toolCallId="t1", kind="search")
    assert talk.permission() == "ALLOW_ONCE"


def test_only_so_many_kinds_are_remembered() -> None:
    talk = prompted(read_only=True)
    for number in range(10_000):
        talk.update("tool_call", toolCallId=str(number), kind="read")
    talk.update("tool_call", toolCallId="t1", kind="read")
    assert talk.permission() == "REJECT_ONCE"


def test_what_we_do_not_offer_is_refused() -> None:
    message = prompted().ask("fs/write_text_file", {"path": "/etc/passwd", "content": ""})
    assert message["error"] == {"code": -32601, "message": "Method not found: fs/write_text_file"}


# --- it is stopped ---


def test_a_turn_is_cancelled_and_its_end_is_waited_for() -> None:
    talk = prompted()
    (out,) = talk.client.stop()
    assert out[0] == {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s1"}}
    assert talk.permission(kind="read") is None
    assert talk.client.end is None
    usage = {"totalTokens": 3, "inputTokens": 2, "outputTokens": 1}
    talk.answer({"stopReason": "cancelled", "usage": usage})
    assert talk.client.end == TurnCancellation()
    assert talk.client.spending.tokens is not None


def test_a_turn_that_ends_in_an_error_when_it_is_cancelled_was_stopped() -> None:
    talk = prompted()
    talk.client.stop()
    assert talk.refuse(code=-32603, message="aborted").client.end == TurnCancellation()


def test_before_the_prompt_there_is_nothing_to_cancel() -> None:
    talk = Played()
    assert talk.client.stop() == []
    assert (talk.client.end, talk.client.waits_for) == (TurnCancellation(), "initialize")


# --- whatever comes ---

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    [
        "sessionId", "update", "sessionUpdate", "content", "text", "kind", "toolCall", "toolCallId", "options",
        "optionId", "configOptions", "category", "id", "modes", "availableModes", "models", "availableModels",
        "modelId", "value", "usage", "totalTokens", "inputTokens", "outputTokens", "_meta", "stopReason", "cost",
        "currency", "amount", "used", "code", "message", "data", "protocolVersion", "agentInfo", "authMethods",
    ]
)  # fmt: skip
WORDS = st.sampled_from(
    [
        "s1",
        "tool_call",
        "agent_message_chunk",
        "usage_update",
        "end_turn",
        "model",
        "mode",
        "plan",
        "USD",
        "read",
    ]
)
TOLD = st.recursive(
    ANYTHING | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=12,
)
MESSAGE = st.fixed_dictionaries(
    {},
    optional={
        "id": st.sampled_from([1, 2, 3, 4]) | ANYTHING,
        "method": st.sampled_from(["session/update", "session/request_permission"]) | ANYTHING,
        "params": TOLD,
        "result": TOLD,
        "error": TOLD,
    },
)


@settings(max_examples=50)
@given(messages=st.lists(MESSAGE, max_size=3), depth=st.integers(0, 2), read_only=st.booleans())
def test_no_message_whatever_is_in_it_breaks_the_client(
    messages: list[dict[str, object]], depth: int, read_only: bool
) -> None:
    talk = Played(read_only=read_only, model="m" if read_only else None)
    for result in (HELLO, BEGUN)[:depth]:
        talk.answer(result)
    for message in messages:
        assert isinstance(talk.client.receive(message), list)
