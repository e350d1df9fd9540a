"""Two driven egos under a radio, computing times, an attack, a defence and a repair, on carlite."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from harness.campaign.planning.plan import plan_campaign
from harness.campaign.settings.config import hash_settings
from harness.common.errors import UserError
from harness.records.reading import CampaignRecords, read_stored_table
from tests.campaign.egos import TOWN, Way, read_result, run, write_scenario
from tests.campaign.test_mixed_egos import assign, settle
from tests.campaign.tiny import composed
from tests.once import once

NAME = "r3_a_ins_c"
WAYS: tuple[Way, ...] = (((18.4, 59.8), (-14.0, 59.8)), ((-1.6, 40.0), (-1.2, 74.0)))
"""Both begin 20 m before the middle of a crossing."""
SHARING = ("system=ideal_late", "cooperation=egos", "lights=green")
RADIO = ("link=[]", "+link.radio._target_=harness.channel.links.its_g5.ItsG5Link")
SENDER, EGO = 0.12, 0.08
ALL = (
    *SHARING,
    *("link=itsg5", "compute=declared", "attack=ghost", "defence=consensus"),
    *(f"compute.declared.{who}.ideal_late={ms}" for who, ms in (("sender", 120), ("ego", 80))),
    *("attack.ghost.start=0", "+attack.ghost.egos=[1]", "intervention=repair_LADE"),
)
NOTHING = (
    *SHARING,
    *RADIO,
    *(f"+link.radio.with_{cause}=false" for cause in ("queue", "airtime", "loss")),
    *("compute=declared", "attack=ghost", "attack.ghost.partners=0"),
)
"""A radio on which nothing is late or lost, no computing time, no insider."""


def drive(folder: Path) -> Path:
    """Drive the campaigns of this file; return their folder."""
    checkout = write_scenario(folder / "set", NAME, *WAYS)
    for name, more in (("all", ALL), ("nothing", NOTHING), ("plain", SHARING)):
        done = run(checkout, folder / name, *more)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the campaigns."""
    return once(tmp_path_factory, "egos-channel", drive)


def list_egos(out: Path, intervention: str = "none") -> list[Path]:
    """Return the folders of both egos, of the attempt under an intervention."""
    campaign = CampaignRecords(out)
    (key,) = [key for key in campaign.find_attempts() if key.arm["intervention"] == intervention]
    return campaign.list_ego_folders(key)


def read(folder: Path, name: str) -> pd.DataFrame:
    """Return a table of an ego."""
    return read_stored_table(folder / f"{name}.parquet", name)


@pytest.mark.thorough
def test_both_egos_receive_on_one_air(driven: Path) -> None:
    tables = [read(ego, "links") for ego in list_egos(driven / "all")]
    assert [set(table.sender) for table in tables] == [{"ego-1"}, {"ego-0"}]
    first, second = (table.set_index("capture_frame") for table in tables)
    both = first.index.intersection(second.index)
    assert len(both) > 20
    first, second = first.loc[both], second.loc[both]
    # one path: seen from both ends it is as long, as free and as strong
    assert np.allclose(first.distance, second.distance)
    assert (first.sight == second.sight).all()
    assert np.allclose(first.power, second.power)
    assert 0.0 < first.busy.min() <= first.busy.max() < 1.0
    # one sends after the other: what is on the air does not overlap
    begins = np.stack([table.queue for table in (first, second)])
    ends = begins + np.stack([table.airtime for table in (first, second)])
    apart = (begins[0] >= ends[1] - 1e-9) | (begins[1] >= ends[0] - 1e-9)
    assert apart.all()


@pytest.mark.thorough
def test_egos_and_senders_take_their_time(driven: Path) -> None:
    for ego in list_egos(driven / "all"):
        messages, links, computing = (
            read(ego, name) for name in ("messages", "links", "computing")
        )
        of_ego = computing[computing.agent == "ego"]
        assert np.allclose(of_ego.seconds, EGO)
        waited = (of_ego.acts - of_ego.ready).dropna()
        assert len(waited) > 20
        assert (waited > -1e-9).all()
        assert (waited < 0.05 + 1e-9).all()
        assert np.allclose(computing[computing.agent != "ego"].seconds, SENDER)
        # a message leaves when it has been computed, and is then on the air
        arrived = links[links.outcome == "arrived"].set_index("capture_frame")
        late = messages.set_index("capture_frame").loc[arrived.index]
        on_air = arrived.queue + arrived.airtime
        assert np.allclose(late.delay, SENDER + on_air)
        assert np.allclose(arrived.arrival, late.capture_time + late.delay)
        # in steps of 0.2 s, such a message is used one step later
        used = messages[messages.uses > 0]
        assert len(used) > 10
        assert np.allclose(used.age_measured, 0.2)


@pytest.mark.thorough
def test_an_attack_aims_at_one_ego_and_both_judge(driven: Path) -> None:
    first, second = list_egos(driven / "all")
    assert not (first / "attacks.parquet").exists()
    attacks = read(second, "attacks")
    # the insider is the other driven ego
    assert set(attacks.sender) == {"ego-0"}
    assert (attacks.added == 1).any()
    records = [read_result(ego)["messages"] for ego in (first, second)]
    assert "attack" not in records[0]
    assert records[1]["attack"]["insiders"] == 1
    assert records[1]["attack"]["believed"] > 0
    for ego, lies in ((first, False), (second, True)):
        judged = read(ego, "defences")
        assert len(judged) > 10
        assert judged.lies.any() == lies


@pytest.mark.thorough
def test_a_repair_acts_in_both_egos(driven: Path) -> None:
    results = [read_result(ego)["intervention"] for ego in list_egos(driven / "all", "repair_LADE")]
    assert [one["name"] for one in results] == ["repair_LADE", "repair_LADE"]
    # the ghost is an additional detection of the ego that is lied to, and is taken out
    assert [one["changed"] > 0 for one in results] == [False, True]
    changes = read(list_egos(driven / "all", "repair_LADE")[1], "box_changes")
    assert set(changes.pattern) == {"LADE"}
    assert "intervention" not in read_result(list_egos(driven / "all")[1])


@pytest.mark.thorough
def test_a_radio_without_effect_changes_no_table(driven: Path) -> None:
    for ego, plain in zip(list_egos(driven / "nothing"), list_egos(driven / "plain"), strict=True):
        names = {path.name for path in plain.iterdir() if path.suffix == ".parquet"}
        more = {path.name for path in ego.iterdir() if path.suffix == ".parquet"} - names
        assert more == {"links.parquet", "computing.parquet"}
        assert "messages.parquet" in names
        for name in sorted(names):
            assert (ego / name).read_bytes() == (plain / name).read_bytes(), name


def line(folder: Path, *more: str) -> tuple[str, ...]:
    """Return the words of a campaign on a scenario of two egos."""
    checkout = write_scenario(folder, NAME, *WAYS)
    return (
        *("routes=interdrive", f"routes.checkout={checkout}", f"routes.source.town={TOWN}"),
        *("routes.source.driven=all", "interference=[none]", *SHARING, *more),
    )


@pytest.mark.parametrize(
    ("egos", "words"),
    [
        ("[2]", "r3_a_ins_c has no driven ego 2 (egos: 2, from 0)"),
        ("[]", "must be numbers from 0, each once, or null"),
        ("[-1]", "must be numbers from 0, each once, or null"),
        ("[1,1]", "must be numbers from 0, each once, or null"),
    ],
)
def test_an_ego_that_is_not_there_cannot_be_attacked(tmp_path: Path, egos: str, words: str) -> None:
    settings = composed(*line(tmp_path, "attack=ghost", f"+attack.ghost.egos={egos}"))
    with pytest.raises(UserError) as refused:
        plan_campaign(settings)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_attack_on_all_egos_has_the_digest_of_before(tmp_path: Path) -> None:
    words = line(tmp_path, "attack=[ghost,removal]")
    digest = hash_settings(composed(*words))
    assert digest == hash_settings(composed(*words, "+attack.ghost.egos=null"))
    assert digest != hash_settings(composed(*words, "+attack.ghost.egos=[0]"))


@pytest.mark.parametrize(
    ("system", "modality", "more", "words"),
    [
        ("attfuse", "fcooper", "attack=perturbation", "needs gradients, and egos have several"),
        ("late", "ideal_late", "defence=free_space", "and the system reads no points"),
    ],
)
def test_what_does_not_suit_the_system_of_one_ego_is_refused(
    tmp_path: Path, system: str, modality: str, more: str, words: str
) -> None:
    fleet = assign(tmp_path, {"ego-1": "m2"}, m2=modality)
    alone = settle(*line(tmp_path, f"system={system}", more))
    assert len(plan_campaign(alone).attempts) == 1
    settings = settle(*line(tmp_path, f"system={system}", more, *fleet))
    with pytest.raises(UserError, match=f"with partners.systems.{modality}: .*{words}"):
        plan_campaign(settings)
