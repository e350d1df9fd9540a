"""Test towns are driven in with the protocol whose digest made them, and with no other."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from harness.campaign.folder.campaign_folder import load_campaign_header, prepare_campaign
from harness.campaign.folder.inputs import with_inputs
from harness.campaign.planning.plan import plan_campaign
from harness.campaign.run import run_campaign_config as run_config
from harness.campaign.settings.config import hash_settings
from harness.campaign.settings.declared import CampaignSettings
from harness.common.errors import UserError
from harness.common.protocols import (
    derive_protocol_seed,
    format_town_name,
    hash_protocol,
    is_test_town,
)
from harness.world.maps import NAME, SHIPPED_TOWNS
from harness.world.routes.generate_command import choose_routes_seed
from tests.campaign.tiny import composed, write_route

TEXT = b"A protocol that no study has.\n"
SEEDS = [5986696530800948423, 5444506796646587846]
"""The first two of a digest of zeros."""
TOWN = f"Test_{sha256(TEXT).hexdigest()[:8]}_1"


@pytest.fixture
def routes(tmp_path: Path) -> Path:
    """A route in a town under the name of a test town."""
    (tmp_path / f"{TOWN}.xodr").write_bytes((SHIPPED_TOWNS / "Crucible05.xodr").read_bytes())
    file = write_route(tmp_path) / "routes.xml"
    file.write_text(file.read_text().replace("Crucible05", TOWN))
    (tmp_path / "protocol.md").write_bytes(TEXT)
    (tmp_path / "other.md").write_bytes(TEXT + b"Added later.\n")
    return tmp_path


def settings_of(folder: Path, *settings: str) -> CampaignSettings:
    return composed(
        f"routes.file={folder / 'routes.xml'}",
        "routes.hazards=null",
        "routes.only=null",
        f"simulator.maps={folder}",
        "dry_run=true",
        *settings,
    )


@pytest.mark.parametrize(
    ("protocol", "needed"),
    [
        ("null", "protocol=FILE must name the protocol"),
        ("other.md", "not a town of .*other.md, whose first is Test_"),
        ("absent.md", "absent.md: No such file"),
    ],
)
def test_a_test_town_needs_its_protocol(routes: Path, protocol: str, needed: str) -> None:
    named = protocol if protocol == "null" else routes / protocol
    with pytest.raises(UserError, match=needed):
        plan_campaign(settings_of(routes, f"protocol={named}"))


def test_its_protocol_is_recorded_by_its_digest(routes: Path, tmp_path: Path) -> None:
    settings = settings_of(routes, f"protocol={routes / 'protocol.md'}")
    assert plan_campaign(settings).town == TOWN
    whole = with_inputs(settings)
    assert whole["inputs"]["protocol"] == sha256(TEXT).hexdigest()
    prepare_campaign(tmp_path / "out", whole, "carlite")
    header = load_campaign_header(tmp_path / "out" / "campaign.yaml")
    assert header["settings"]["inputs"]["protocol"] == sha256(TEXT).hexdigest()
    elsewhere = {**settings, "protocol": str(routes / "other.md")}
    assert hash_settings(elsewhere) == hash_settings(settings), (
        "where the file lies does not matter"
    )


def test_a_campaign_without_it_writes_nothing(
    routes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = routes / "out"
    settings = {**settings_of(routes, f"out={out}"), "dry_run": False}
    assert run_config(OmegaConf.create(settings)) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not out.exists()


def test_other_towns_need_none(tmp_path: Path) -> None:
    settings = settings_of(write_route(tmp_path))
    assert plan_campaign(settings).town == "Crucible05"
    assert "protocol" not in with_inputs(settings)["inputs"]


def test_seeds_and_names_come_from_the_digest(routes: Path) -> None:
    """Written down, since a changed rule would give a registered protocol other towns."""
    made = hash_protocol(routes / "protocol.md")
    assert [derive_protocol_seed("0" * 64, place) for place in (0, 1)] == SEEDS
    assert len({derive_protocol_seed(made, place) for place in range(50)}) == 50
    assert format_town_name(made, 1) == TOWN
    assert NAME.fullmatch(format_town_name(made, 12))
    assert is_test_town(TOWN)
    assert not is_test_town("Seeded_1")


def test_the_seed_of_routes_in_a_test_town_is_its_protocols(routes: Path) -> None:
    protocol = routes / "protocol.md"
    text = f"{sha256(TEXT).hexdigest()}/routes"
    first = int.from_bytes(sha256(text.encode()).digest()[:8], "big")
    assert choose_routes_seed(TOWN, 0, protocol) == first % 2**63
    assert choose_routes_seed("Crucible05", 7, None) == 7


@pytest.mark.parametrize(
    ("town", "protocol", "problem"),
    [
        (TOWN, None, "a test town"),
        (TOWN, "other.md", "not a town of"),
        ("Crucible05", "protocol.md", "not a test town; give --seed"),
    ],
)
def test_other_seeds_of_routes_are_refused(
    routes: Path, town: str, protocol: str | None, problem: str
) -> None:
    with pytest.raises(UserError, match=problem):
        choose_routes_seed(town, 1, None if protocol is None else routes / protocol)
