"""The program behind `make soak`."""

from pathlib import Path

import pytest

from soak.__main__ import main
from soak.campaigns import Trial, campaigns, kill_runs


def fails_for_odd(seed: int, folder: Path) -> Trial:
    (folder / "left").touch()
    return Trial(2, [f"{seed} is odd"] if seed % 2 else [])


def test_figures_are_printed_and_a_violation_is_an_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["odd", "--seeds", "2 3 4"], {"odd": fails_for_odd}) == 1
    printed = capsys.readouterr().out
    assert 'repeat: make soak CAMPAIGNS=odd SEEDS="3"' in printed
    assert "3 is odd" in printed
    assert "odd: 3 trials (6 attempts), 1 violations" in printed
    assert main(["odd", "--seeds", "2"], {"odd": fails_for_odd}) == 0


def test_without_seeds_at_least_one_trial_is_made(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--minutes", "0"], {"even": lambda _seed, _folder: Trial(1, [])}) == 0
    assert "even: 1 trials (1 attempts), 0 violations" in capsys.readouterr().out


def test_an_unknown_campaign_is_refused() -> None:
    with pytest.raises(SystemExit):
        main(["ghosts"])
    assert list(campaigns(1)) == ["nights", "kill", "git", "faults", "hostile", "fuzz"]


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [1, 2])
def test_a_killed_run_of_a_random_plan_reaches_the_undisturbed_tree(tmp_path: Path, seed: int) -> None:
    assert kill_runs(seed, tmp_path.resolve()).problems == []
