"""What a file's header says of the scenery."""

from __future__ import annotations

import pytest

from harness.carlite import towns
from harness.carlite.labels import SemanticLabel
from harness.carlite.towns.loading import SHIPPED_TOWNS
from harness.carlite.towns.scenery_styles import DOWNTOWN, SUBURB, choose_scenery_style


def with_wishes(**wishes: str) -> str:
    data = "".join(
        f'<userData code="scenery.{name}" value="{value}"/>' for name, value in wishes.items()
    )
    text = (SHIPPED_TOWNS / "CrucibleOld.xodr").read_text(encoding="utf-8")
    return text.replace("</header>", f"{data}</header>", 1)


def test_a_town_without_wishes_keeps_its_style() -> None:
    assert choose_scenery_style("Anywhere", {}) == DOWNTOWN
    assert choose_scenery_style("CrucibleHill", {}) == SUBURB


def test_wishes_replace_a_style() -> None:
    style = choose_scenery_style("Anywhere", {"setback": 4.0, "parked": 0.25, "storeys": 2.0})
    assert style.setback[0] == 4.0
    assert (style.parked, style.storeys) == (0.25, (1, 2.0))
    assert style.gap == SUBURB.gap


@pytest.mark.thorough
def test_houses_are_as_high_as_the_file_says() -> None:
    def highest(storeys: str) -> float:
        scenery = towns.from_opendrive("Same", with_wishes(storeys=storeys)).scenery
        chosen = scenery.label == SemanticLabel.BUILDING
        return float((scenery.extent[chosen, 2] * 2).max())

    assert highest("2") < 9.0 < highest("12")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("wishes", "said"),
    [
        ({"setback": "-1"}, "scenery.setback=-1"),
        ({"parked": "many"}, "value of <userData> is 'many'"),
        ({"colour": "1"}, "scenery.colour=1: unknown"),
    ],
)
def test_wishes_that_make_no_sense_are_refused(wishes: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        towns.from_opendrive("Same", with_wishes(**wishes))
