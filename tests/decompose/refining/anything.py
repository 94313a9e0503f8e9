"""What an agent might answer: any JSON, and such as is nearly right."""

from hypothesis import strategies as st

TEXTS = st.sampled_from(
    ["a", "a/b", "Store", "", " ", "x" * 201, "x" * 4001, "a\tb", "a\n", "é", "\x1b", "\ud800"]
)
VALUES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS)
KEYS = st.sampled_from(["part", "id", "title", "prompt", "file", "to", "parts", "moves", "x"])
JSON = st.recursive(
    VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=8
)
ANSWERS = JSON | st.fixed_dictionaries(
    {},
    optional={
        name: st.lists(st.dictionaries(KEYS, TEXTS, max_size=4), max_size=3) for name in ("parts", "moves")
    },
)
