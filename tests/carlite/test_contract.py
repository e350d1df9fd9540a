"""The contract has a row for every member of the client library, and its refusals are true."""

from __future__ import annotations

from collections.abc import Callable

import carla
import pytest

from harness.carlite import calls
from harness.carlite.contract import STATUSES, count_contract_statuses, read_contract
from harness.carlite.errors import CallError
from harness.carlite.strict import StrictCalls, list_approximated_calls
from tests.carlite.apart import apart
from tests.carlite.contract_compare import run_probe
from tests.carlite.contract_probes import PROBES
from tests.carlite.surface.stage import Idle, Refused, Stage, Unheard
from tests.carlite.test_client_surface import TABLES

NO_EFFECT = "Accepted without effect."


def list_wheel_members() -> dict[str, set[str]]:
    """Return the public members of all classes of the wheel, as the contract names them."""
    return {
        prefix + name: {member for member in vars(kind) if not member.startswith("_")}
        for prefix, space in (("", carla), ("command.", carla.command))
        for name, kind in vars(space).items()
        if isinstance(kind, type) and not name.startswith("_")
    }


def test_every_member_of_the_wheel_has_a_row_and_every_row_a_member() -> None:
    assert {name: set(rows) for name, rows in read_contract().items()} == list_wheel_members()


def test_every_row_is_compared_or_refused() -> None:
    assert count_contract_statuses()["not probed"] == 0


def test_rows_have_what_their_status_needs() -> None:
    for name, rows in read_contract().items():
        for member, row in rows.items():
            where = f"{name}.{member}"
            assert row.status in STATUSES, where
            assert bool(row.how_far) == (row.status == "approximated"), where
            assert row.probe or row.status != "exact", where
            assert not row.probe or row.status in ("exact", "approximated"), where
            assert not row.line or row.status == "refused", where
            assert row.status != "refused" or row.line or row.call, where


def test_calls_that_the_client_cannot_hear_of_are_what_the_contract_says() -> None:
    roles = {"refused": "refuse", "approximated": "_do_nothing"}
    table = calls.build_call_table()
    for name, rows in read_contract().items():
        for member, row in rows.items():
            if row.call and (row.status == "refused" or row.how_far == NO_EFFECT):
                assert table[row.call].run.__name__ == roles[row.status], f"{name}.{member}"


def test_the_contract_and_the_survey_agree() -> None:
    statuses: dict[type, str] = {
        Refused: "refused",
        Unheard: "refused",
        Idle: "approximated",
    }
    for name, table in TABLES.items():
        for member, entry in table.items():
            expected, row = statuses.get(type(entry)), read_contract()[name][member]
            assert expected in (None, row.status), f"{name}.{member}"
            assert (row.status == "refused") == (expected == "refused"), f"{name}.{member}"


@apart
def test_the_client_sees_the_lines_of_refusals(client: carla.Client, world: carla.World) -> None:
    stage = Stage(client, world)
    seen, promised = {}, {}
    for name, table in TABLES.items():
        for member, entry in table.items():
            if isinstance(entry, Refused):
                promised[f"{name}.{member}"] = read_contract()[name][member].line
                try:
                    seen[f"{name}.{member}"] = f"answered: {entry.ask(stage)!r}"
                except RuntimeError as refusal:
                    seen[f"{name}.{member}"] = str(refusal)
    assert seen == promised
    assert len(seen) > 10


def test_rows_name_their_probes() -> None:
    names = [probe.__name__ for part in PROBES for probe in part]
    assert len(set(names)) == len(names)
    named = {row.probe for rows in read_contract().values() for row in rows.values()}
    assert named - {""} <= set(names)


def compare_rows(part: int, client: carla.Client, world: carla.World) -> None:
    """Run some probes: what they compare is right, and they cover the rows that name them."""
    stage = Stage(client, world)
    covered: dict[str, str] = {}
    complaints: list[str] = []
    for probe in PROBES[part]:
        members, wrong = run_probe(probe, stage)
        complaints += wrong
        covered = dict.fromkeys(members, probe.__name__) | covered
    assert not complaints, "\n".join(complaints)
    # a row names the first of its probes, which may be of an earlier part
    earlier = {probe.__name__ for before in PROBES[:part] for probe in before}
    here = {probe.__name__ for probe in PROBES[part]}
    rows = {
        f"{name}.{member}": row.probe
        for name, members in read_contract().items()
        for member, row in members.items()
    }
    promised = {name: probe for name, probe in rows.items() if probe in here}
    new = {name: probe for name, probe in covered.items() if rows[name] not in earlier}
    assert new == promised, sorted(new.items() ^ promised.items())


@apart
def test_rows_are_what_the_contract_says(client: carla.Client, world: carla.World) -> None:
    compare_rows(0, client, world)


@pytest.mark.thorough
@apart
def test_rows_of_traffic_are_what_the_contract_says(
    client: carla.Client, world: carla.World
) -> None:
    compare_rows(1, client, world)


@pytest.mark.thorough
@apart
def test_rows_of_loading_are_what_the_contract_says(
    client: carla.Client, world: carla.World
) -> None:
    compare_rows(2, client, world)


@apart
def test_what_never_comes_is_refused_where_it_would_come_from(
    client: carla.Client, world: carla.World
) -> None:
    stage = Stage(client, world)
    sources: dict[str, Callable[[], object]] = {
        "WalkerBoneControlOut": stage.walker.get_bones,
        "bone_transform_out": stage.walker.get_bones,
    }
    refused = {
        name: {row.line for row in rows.values()}
        for name, rows in read_contract().items()
        if name not in TABLES and any(row.status == "refused" for row in rows.values())
    }
    seen = {}
    for name, ask in sources.items():
        with pytest.raises((IndexError, RuntimeError)) as refusal:
            ask()
        seen[name] = {str(refusal.value)}
    assert seen == refused


@pytest.mark.parametrize("refuses", [False, True])
def test_strict_logs_the_first_use(refuses: bool, capsys: pytest.CaptureFixture[str]) -> None:
    strict = StrictCalls(refuses)
    table = strict.wrap_calls(calls.build_call_table())
    for _ in range(3):
        if refuses:
            with pytest.raises(CallError, match="open_vehicle_door: strict"):
                table["open_vehicle_door"].run(None, None, 1, 0)
        else:
            table["open_vehicle_door"].run(None, None, 1, 0)
    strict.write_summary()
    first, summary = capsys.readouterr().err.splitlines()
    assert first.startswith("carlite: strict: Vehicle.open_door is approximated: ")
    assert summary.endswith("open_vehicle_door 3")
    assert set(list_approximated_calls()) <= set(table)
