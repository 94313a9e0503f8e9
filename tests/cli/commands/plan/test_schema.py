"""`weft schema`: what editors are told, and what people read."""

import json

import pytest
from click.testing import CliRunner, Result

from weft.cli.main import cli
from weft.plan.language.reference import plan_reference
from weft.plan.language.schema import config_schema, plan_schema


def schema(*args: str) -> Result:
    return CliRunner().invoke(cli, ["schema", *args])


def test_the_schema_is_that_of_plans_or_of_configurations() -> None:
    assert json.loads(schema().stdout) == plan_schema()
    assert json.loads(schema("--config").stdout) == config_schema()


def test_the_schema_is_for_people_to_read_as_well() -> None:
    assert schema().stdout.startswith('{\n  "$schema": "https://json-schema.org/draft/2020-12/schema",\n')


def test_the_reference_is_markdown() -> None:
    assert schema("--reference").stdout == plan_reference()


@pytest.mark.parametrize(
    ("args", "data"),
    [
        ([], {"schema": plan_schema()}),
        (["--config"], {"schema": config_schema()}),
        (["--reference"], {"text": plan_reference()}),
    ],
)
def test_for_programs_it_stands_in_the_envelope(args: list[str], data: dict[str, object]) -> None:
    assert json.loads(schema("--json", *args).stdout) == {"weft": 1, "data": data}


def test_there_is_one_reference() -> None:
    result = schema("--reference", "--config")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.endswith(
        "Error: The reference covers plans and configurations; leave out --config\n"
    )
