"""Tests that were chosen before any judged network answered: written, and read by the judge.

The file has each test's scene, operator and values, and a digest of all of it. The judge refuses a
file that was changed, scenes that are others, and a network by whose answers tests were chosen.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.common.errors import UserError
from harness.common.files import write_whole
from harness.common.safe_reading import STUDY_RECORD, read_json_within
from studies.metamorphic.judging.rows import FollowUp
from studies.metamorphic.scenes.scene import CooperativeScene
from studies.space import Values

DIGEST = "sha256"
SAVED_FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedTest:
    """A scene under an operator with its values."""

    scene: str
    operator: str
    values: Values
    sweep: str  # digest of the ego's sweep as it was recorded


@dataclass(frozen=True, kw_only=True)
class SavedTests:
    """Tests in the order in which they were met, and how they were chosen."""

    guide: str
    reads: str
    share: float
    seed: int  # of operators and of chance
    operators: tuple[str, ...]
    candidates: int  # that the guide chose among
    chosen_by: Mapping[str, str]  # networks whose answers the guide read, with their digests
    tests: tuple[SavedTest, ...]

    @cached_property
    def digest(self) -> str:
        """Return the digest of everything that the file has."""
        return compute_content_digest(self.make_content())

    @cached_property
    def by_name(self) -> Mapping[tuple[str, str], SavedTest]:
        """Return tests by scene and operator."""
        return {(test.scene, test.operator): test for test in self.tests}

    def make_content(self) -> dict[str, Any]:
        """Return what is written, without the digest."""
        names = [field.name for field in fields(self) if field.name != "tests"]
        content = {name: getattr(self, name) for name in names}
        tests = [asdict(test) for test in self.tests]
        return {"format": SAVED_FORMAT, **content, "tests": tests}

    def refuse_judged(self, systems: Mapping[str, str]) -> None:
        """Refuse systems by whose answers the tests were chosen.

        Args:
            systems: digests of weights, by name.
        """
        for name, digest in systems.items():
            if name in self.chosen_by or (digest and digest in self.chosen_by.values()):
                raise UserError(
                    f"{name}: the tests were chosen by its answers, so judging it by them is"
                    " circular; judge other systems, or choose by another one"
                )

    @cached_property
    def scenes(self) -> frozenset[str]:
        """Return the scenes of the tests."""
        return frozenset(test.scene for test in self.tests)


def compute_content_digest(content: Mapping[str, Any]) -> str:
    """Return SHA-256 of JSON with sorted keys."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def compute_sweep_digest(scene: CooperativeScene) -> str:
    """Return SHA-256 of the points of the ego's sweep."""
    return hashlib.sha256(scene.ego.points_in_lidar.tobytes()).hexdigest()


def write_saved_tests(file: Path, saved: SavedTests) -> None:
    """Write tests with their digest; refuse to write over other ones.

    Args:
        file: JSON.
        saved: what was chosen.
    """
    if file.exists() and read_saved_tests(file).digest != saved.digest:
        raise UserError(f"{file}: has other tests; name another --out")
    content = {**saved.make_content(), DIGEST: saved.digest}
    write_whole(file, json.dumps(content, indent=1, sort_keys=True) + "\n")


def read_saved_tests(file: Path) -> SavedTests:
    """Return tests as they were written; refuse a file whose digest is another.

    Args:
        file: of `write_saved_tests`.
    """
    try:
        content = read_json_within(file, STUDY_RECORD)
        written = content.pop(DIGEST)
        digest = compute_content_digest(content)
        if content.pop("format") != SAVED_FORMAT:
            raise UserError(f"{file}: saved tests of another format")
        saved = SavedTests(
            **{
                **content,
                "operators": tuple(content["operators"]),
                "tests": tuple(SavedTest(**test) for test in content["tests"]),
            }
        )
    except FileNotFoundError:
        raise UserError(f"{file}: not found") from None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
        raise UserError(f"{file}: not saved tests ({problem})") from None
    if digest != written:
        raise UserError(
            f"{file}: was changed after the tests were chosen: digest {digest[:12]}, written"
            f" {str(written)[:12]}"
        )
    return saved


def refuse_changed_test(
    saved: SavedTests, scene: CooperativeScene, operator: str, follow: FollowUp | str
) -> None:
    """Refuse a scene or values that are not those of the saved test.

    Args:
        saved: all tests, this one among them.
        scene: as recorded.
        operator: its name.
        follow: what the operator makes of the scene now, or why it cannot.
    """
    test = saved.by_name[scene.source.name, operator]
    if compute_sweep_digest(scene) != test.sweep:
        raise UserError(f"{test.scene}: another sweep than when the tests were chosen")
    values = None if isinstance(follow, str) else json.loads(json.dumps(dict(follow.values)))
    if values != dict(test.values):
        raise UserError(f"{test.scene}, {operator}: other values than when the tests were chosen")
