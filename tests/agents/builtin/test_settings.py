import pytest

from weft.agents.builtin import chat, messages
from weft.agents.builtin.settings import AgentSettings, Options, parse_options, read_settings
from weft.errors import InputError

OPENAI = {"OPENAI_API_KEY": "ok"}
ANTHROPIC = {"ANTHROPIC_API_KEY": "ak"}


def settings(*args: str, **environ: str) -> AgentSettings:
    return read_settings(args, {"WEFT_MODEL": "m", **environ})


def test_options_are_read_in_both_ways_of_writing() -> None:
    assert parse_options(()) == Options()
    args = [
        "--api",
        "chat",
        "--max-turns=7",
        "--max-output-tokens",
        "9",
        "--retries",
        "0",
        "--retry-wait=0.5",
    ]
    assert parse_options(args) == Options(
        api="chat", max_turns=7, max_output_tokens=9, retries=0, retry_wait=0.5
    )


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["--max-turn", "1"], "does not know '--max-turn'; its options are --api, --max-turns"),
        (["chat"], "does not know 'chat'"),
        (["--api"], r"--api needs a value, as in `args: \[--api, VALUE\]`"),
        (["--api", "grpc"], "--api must be `chat` or `messages`, not 'grpc'"),
        (["--max-turns", "0"], "--max-turns must be a whole number from 1 to 1,000,000, not '0'"),
        (["--retries", "x"], "--retries must be a whole number from 0"),
        (["--retry-wait", "nan"], "--retry-wait must be seconds"),
        (["--command-timeout=1.5"], "--command-timeout must be a whole number"),
    ],
)
def test_options_that_are_wrong_are_reported(args: list[str], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        parse_options(args)


def test_the_key_that_is_set_says_which_provider_is_meant() -> None:
    of_chat, of_messages = settings(**OPENAI), settings(**ANTHROPIC)
    assert (of_chat.api, of_chat.key, of_chat.url) == (
        chat,
        "ok",
        "https://api.openai.com/v1/chat/completions",
    )
    assert (of_messages.api, of_messages.key) == (messages, "ak")
    assert of_messages.url == "https://api.anthropic.com/v1/messages"


def test_a_model_on_this_machine_needs_no_key() -> None:
    local = settings(OPENAI_BASE_URL="http://localhost:11434/v1")
    assert (local.key, local.url) == (None, "http://localhost:11434/v1/chat/completions")


def test_of_two_providers_one_must_be_chosen() -> None:
    with pytest.raises(
        InputError, match=r"two providers \(OPENAI_API_KEY and ANTHROPIC_API_KEY\).*--api, chat"
    ):
        settings(**OPENAI, **ANTHROPIC)
    assert settings("--api", "messages", **OPENAI, **ANTHROPIC).key == "ak"


def test_a_key_that_is_missing_is_named() -> None:
    with pytest.raises(InputError, match="neither OPENAI_API_KEY nor ANTHROPIC_API_KEY is set"):
        settings()
    with pytest.raises(
        InputError, match=r"ANTHROPIC_API_KEY is not set: there is no key for https://api\.anth"
    ):
        settings("--api", "messages", **OPENAI)


def test_a_key_with_a_line_break_is_reported_and_not_shown() -> None:
    with pytest.raises(InputError, match=r"^OPENAI_API_KEY contains characters that no key has") as caught:
        settings(OPENAI_API_KEY="secret\n")
    assert "secret" not in str(caught.value)


def test_no_model_is_guessed() -> None:
    with pytest.raises(InputError, match=r"no model is named.* give the agent a `model`"):
        read_settings((), OPENAI)


def test_what_the_step_says_is_read() -> None:
    step_settings = settings(**OPENAI, WEFT_READ_ONLY="1", WEFT_SESSION="a/b")
    assert (step_settings.model, step_settings.read_only, step_settings.session) == ("m", True, "a/b")
    step_settings = settings(**OPENAI)
    assert (step_settings.read_only, step_settings.session) == (False, None)
