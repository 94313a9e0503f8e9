"""Plans as text, as large as wished, always the same."""

from random import Random

HEAD = """\
weft: 1
plan: large
goal: Move every module to the new interface.
base: main
target: main
max_parallel: 8
agents:
  coder: {use: claude, model: sonnet, pool: 4, max_cost: 0.50}
subplans:
"""


def plan_text(slices: int, *, group: int = 100) -> str:
    """Groups of slices, each with files and a check of its own, and up to three dependencies on earlier ones."""
    rng = Random(slices)
    lines: list[str] = []
    for number in range(max(1, slices // group)):
        lines += [f"  - id: group-{number}", f"    title: Group {number} of the modules"]
        lines.append(f"    verify: make test-group-{number}")
        if number and rng.random() < 0.7:
            lines.append(f"    depends_on: [group-{rng.randrange(max(0, number - 10), number)}]")
        lines.append("    subplans:")
        for slice_ in range(min(group, slices)):
            lines += _slice(number, slice_, rng)
    return HEAD + "\n".join(lines) + "\n"


def _slice(group: int, number: int, rng: Random) -> list[str]:
    lines = [
        f"      - id: slice-{number}",
        f"        prompt: Move module {number} of group {group} to the new interface",
        f"        files: [src/group{group}/module{number}/**]",
        f"        verify: pytest -q tests/group{group}/test_module{number}.py",
    ]
    earlier = sorted(rng.sample(range(number), min(number, rng.randint(0, 3))))
    if earlier:
        lines.append(f"        depends_on: [{', '.join(f'slice-{other}' for other in earlier)}]")
    return lines


SMALL = plan_text(10, group=10)
