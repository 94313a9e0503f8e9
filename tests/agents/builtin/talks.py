"""Conversations, for tests."""

from hypothesis import strategies as st

from weft.agents.builtin.chat import Brief
from weft.agents.builtin.talk import Call, Results, Said, Talk, User

BRIEF = Brief(
    model="m", system="Be", tools=[{"name": "t", "description": "d", "parameters": {"type": "object"}}]
)
TALK: Talk = (
    User("Do it"),
    Said("I will", (Call("c1", "shell", {"command": "ls"}), Call("c2", "shell", {}, "no JSON"))),
    Results((("c1", "a.py"), ("c2", "error: no JSON"))),
    Said("Done."),
    User("More"),
)

texts = st.text(max_size=20)
calls = st.builds(
    Call,
    texts.filter(bool),
    st.sampled_from(["shell", "read_file", "done"]),
    st.dictionaries(texts, texts, max_size=2),
    st.sampled_from(["", "", "no JSON"]),
)
saids = st.tuples(texts, st.lists(calls, max_size=3).map(tuple)).map(lambda said: Said(*said))
