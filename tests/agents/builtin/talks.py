"""Conversations, for tests."""

from hypothesis import strategies as st

from weft.agents.builtin.chat import RequestBrief
from weft.agents.builtin.conversation import Conversation, ModelMessage, ToolCall, ToolResults, UserMessage

BRIEF = RequestBrief(
    model="m", system="Be", tools=[{"name": "t", "description": "d", "parameters": {"type": "object"}}]
)
TALK: Conversation = (
    UserMessage("Do it"),
    ModelMessage(
        "I will", (ToolCall("c1", "shell", {"command": "ls"}), ToolCall("c2", "shell", {}, "no JSON"))
    ),
    ToolResults((("c1", "a.py"), ("c2", "error: no JSON"))),
    ModelMessage("Done."),
    UserMessage("More"),
)

texts = st.text(max_size=20)
calls = st.builds(
    ToolCall,
    texts.filter(bool),
    st.sampled_from(["shell", "read_file", "done"]),
    st.dictionaries(texts, texts, max_size=2),
    st.sampled_from(["", "", "no JSON"]),
)
saids = st.tuples(texts, st.lists(calls, max_size=3).map(tuple)).map(lambda said: ModelMessage(*said))
