"""Nothing of the machine that drove a campaign is in its packed settings."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.records.packing.paths import make_portable_settings, make_portable_text, strip_paths

NAMES = st.from_regex(r"[a-h0-9_-][a-h0-9_.-]{0,7}", fullmatch=True)
FOLDERS = st.lists(NAMES, min_size=1, max_size=4)
STARTS = st.sampled_from(["/", "~/", "~jane/", "file:///", "C:/", "../", "../../", "runs/../../"])


@pytest.mark.thorough
@given(STARTS, FOLDERS, NAMES)
def test_a_path_of_one_machine_is_its_name(start: str, folders: list[str], name: str) -> None:
    assert strip_paths("/".join([f"{start}{folders[0]}", *folders[1:], name])) == name


@given(FOLDERS, NAMES)
def test_a_path_in_a_text_is_its_name(folders: list[str], name: str) -> None:
    text = make_portable_text(
        f"OSError: '/{'/'.join(folders)}/{name}' is absent", Path("runs/main")
    )
    assert text == f"OSError: '{name}' is absent"


@pytest.mark.parametrize(
    "text",
    [
        "routes/sudden/routes.xml",
        "agents.oracle.Oracle",
        "3 m/s, 4/5",
        "http://localhost:4040/live",
        "none",
        "",
    ],
)
def test_other_texts_stay(text: str) -> None:
    assert strip_paths(text) == text
    assert make_portable_text(text, Path("runs/main")) == text


def test_windows_paths_are_names() -> None:
    assert strip_paths("C:\\Users\\jane\\maps") == "maps"
    assert make_portable_text("see C:\\Users\\jane\\log.txt", Path("main")) == "see log.txt"


def test_homes_with_spaces_do_not_stay_in_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "jane of here"
    monkeypatch.setenv("HOME", str(home))
    assert (
        make_portable_text(f"{home}/weights.pt: absent", tmp_path / "main") == "weights.pt: absent"
    )


def test_executors_keep_their_numbers_only() -> None:
    given_ = {
        "out": "runs/jane",
        "live": "jane:9876",
        "export": {"wandb": {"entity": "jane"}},
        "executor": {"_target_": "a.Slurm", "workers": 2, "account": "jane", "queues": ["jane"]},
        "seeds": [1, 2],
    }
    assert make_portable_settings(given_) == {
        "out": None,
        "live": False,
        "export": {},
        "executor": {"_target_": "a.Slurm", "workers": 2},
        "seeds": [1, 2],
    }
