"""Pages whose commands and outputs are of the demo's routes name no other route."""

from __future__ import annotations

import re

import pytest
import yaml

from tests.conftest import ROOT

DEMO = ROOT / "conf" / "routes" / "demo.yaml"
NAMED = re.compile(r"--route (\w+)|/(\w+)-s\d+\b|routes\.only=\[(\w+)\]")
PAGES = (
    "tutorials/first-campaign.md",
    "how-to/critical.md",
    "how-to/watching.md",
    "how-to/simulators.md",
)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_names_routes_of_the_demo(page: str) -> None:
    routes = set(yaml.safe_load(DEMO.read_text())["only"])
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    named = {next(filter(None, groups)) for groups in NAMED.findall(text)}
    assert named
    assert named <= routes
