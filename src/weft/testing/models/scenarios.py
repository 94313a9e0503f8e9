"""Built-in rules for typical behaviour of models, good and bad."""

from weft.testing.models.script import ScriptRule, rules_of

_LINE = "hello from the scripted model"
_APPEND = {"text": "I will append a line.", "shell": f"printf '{_LINE}\\n' >> hello.txt"}
_EDIT = [_APPEND, {"text": "Done: appended one line to hello.txt."}]
_ERRORS = {f"err{status}": [{"http": status}] for status in (400, 401, 403, 404, 500, 529)}

SCENARIOS: tuple[ScriptRule, ...] = rules_of(
    {
        "edit": _EDIT,
        "text": [{"text": "Just text."}],
        "multi": [
            {"shell": "echo one >> hello.txt"},
            {"shell": "echo two >> hello.txt"},
            {"shell": "cat hello.txt"},
            {"text": "Done: two lines."},
        ],
        "write": [
            {"write": {"path": "hello.txt", "content": f"{_LINE}\n"}},
            {"text": "Done: wrote hello.txt."},
        ],
        "parallel": [
            {"actions": [{"shell": "echo a >> a.txt"}, {"shell": "echo b >> b.txt"}]},
            {"text": "Done: two files."},
        ],
        # mini-SWE-agent ends when a command prints this.
        "mini": [_APPEND, {"shell": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && echo done"}],
        # Aider has no tools: its edits are text in the answer.
        "aider": [
            {
                "text": "I will add the line.\n\nhello.txt\n```\n<<<<<<< SEARCH\nhello\n=======\n"
                f"hello\n{_LINE}\n>>>>>>> REPLACE\n```\n"
            }
        ],
        **_ERRORS,
        "err429": [{"http": 429, "retry_after": 1}],
        "late500": [_APPEND, {"http": 500}],
        "hang": [{"hang": True}],
        "latehang": [_APPEND, {"hang": True}],
        "slow": [{**step, "slow": 0.2} for step in _EDIT],
        "drop": [{"drop": True}],
        "garbage": [{"raw": '{"id": "x", "obj'}],
        "longcmd": [{"shell": "sleep 311"}, {"text": "Done sleeping."}],
        # A child that keeps no pipe open: does it outlive the agent?
        "bgcmd": [
            {"shell": "nohup sleep 313 >/dev/null 2>&1 </dev/null & echo started"},
            {"text": "Done: started a process in the background."},
        ],
        "loop": [{"shell": "echo again >> hello.txt"}],
        "badtool": [
            {"tool": {"name": "no_such_tool", "arguments": {"x": 1}}},
            {"text": "Done after a tool that is none."},
        ],
        "badjson": [
            {"tool": {"name": "shell", "arguments": '{"command": "echo'}},
            {"text": "Done after arguments that are none."},
        ],
        "outside": [{"shell": "echo escaped > ../outside.txt"}, {"text": "Done: wrote outside."}],
    }
) + rules_of(
    [
        {"name": "flaky", "times": 2, "steps": [{"http": 500}]},
        {"name": "flaky", "steps": _EDIT},
    ]
)
"""A request without a name gets the first rule."""
