"""`crucible decide`: drives a declared study until its comparisons are decided."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from harness.common.command_registry import CommandDeclaration
from studies.search.command_options import end_as_campaign, order_settings_first

if TYPE_CHECKING:
    from harness.campaign.settings.declared import CampaignSettings
    from studies.decide.planning import StudyWords

COMMAND = CommandDeclaration(
    group="Studies",
    rank=80,
    purpose="drive declared comparisons in batches until each is decided, or resume that",
    extra="run,learn,analysis",
    examples=(
        "crucible decide study.yaml --dry-run",
        "crucible decide study.yaml out=runs/mine executor.workers=2",
        "crucible decide study.yaml out=runs/mine --known part-1.parquet",
    ),
)

DESCRIPTION = """Drive pairs of arms on sampled routes until each comparison of a YAML file is
superior, inferior or equivalent, or the budget of drives is spent. Intervals and decisions hold at
any time, together with the declared error rate. The same command resumes."""
LEFT_BY_A_KILL = {".lock", "logs", "routes", "generated"}
"""What a command leaves that was killed before `campaign.yaml` was written."""


def arrange_arguments(arguments: Sequence[str]) -> list[str]:
    """Return the words with settings where argparse takes them: behind the file."""
    return order_settings_first(arguments, before=0)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible decide` takes."""
    parser.description = DESCRIPTION
    parser.add_argument("study", type=Path, metavar="FILE", help="YAML file that declares a study")
    parser.add_argument(
        "overrides",
        nargs="*",
        metavar="SETTING",
        help="group=choice or setting=value, as in crucible run, such as out=runs/mine",
    )
    parser.add_argument(
        "--config-dir",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="folder with your configuration files, such as system/mine.yaml (default: none)",
    )
    parser.add_argument(
        "--known",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="packed part of the study, whose drives are not driven again (default: none)",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="print comparisons, strata and drives by simulation; drive nothing",
    )
    parser.add_argument(
        "--trust",
        action="store_true",
        help=(
            "build all classes that files of --config-dir name (default: only classes that"
            " declare safe_from_file)"
        ),
    )
    parser.set_defaults(run=end_as_campaign("decide", run_decide_command))


def run_decide_command(options: argparse.Namespace) -> int:
    """Plan a study, then drive it or print the plan."""
    from studies.decide.declaration import GeneratedRoutes, read_declaration  # noqa: PLC0415
    from studies.decide.planning import (  # noqa: PLC0415
        StudyWords,
        compose_study,
        find_study_arms,
        list_generated_kinds,
        list_route_words,
    )

    words = StudyWords(
        declaration=read_declaration(options.study),
        file=options.study,
        overrides=options.overrides,
        folders=options.config_dir,
        trust=options.trust,
    )
    # arms and kinds are checked before a generator runs
    settings = compose_study(words, list_route_words(words.declaration, None))
    find_study_arms(words, settings)
    list_generated_kinds(words)
    folder = get_study_folder(words, settings)
    refuse_other_folder(folder)
    dry = options.dry_run or settings["dry_run"]
    generated = isinstance(words.declaration.routes, GeneratedRoutes)
    if dry:
        return show_dry_run(words, folder, generated, options.known)
    return drive_and_print(words, folder, generated, options.known)


def get_study_folder(words: StudyWords, settings: CampaignSettings) -> Path:
    """Return where the campaign of a study lies."""
    from harness.common.files import expand_home  # noqa: PLC0415

    chosen = settings["out"]
    return words.default_folder if chosen is None else expand_home(chosen, "out")


def refuse_other_folder(folder: Path) -> None:
    """Refuse a folder with anything but a study of this command in it."""
    from harness.campaign.folder.campaign_folder import load_campaign_header, refuse_unpacked  # noqa: PLC0415
    from harness.common.errors import UserError  # noqa: PLC0415
    from harness.records.decided import DECIDED_BY  # noqa: PLC0415

    file = folder / "campaign.yaml"
    try:
        inside = set(os.listdir(folder)) if folder.exists() else set[str]()  # noqa: PTH208
    except OSError as problem:
        raise UserError(f"{folder}: {problem.strerror}") from None
    if os.path.lexists(file):
        header = load_campaign_header(file)
        refuse_unpacked(folder, header)
        if DECIDED_BY not in header:
            raise UserError(f"{folder}: a campaign without a decide plan; choose another out=DIR")
    elif inside - LEFT_BY_A_KILL:
        raise UserError(f"{folder}: not empty and not a campaign; choose another out=DIR")


@contextmanager
def place_generated_routes(words: StudyWords, folder: Path | None) -> Iterator[Path]:
    """Return the folder with a study's generated routes, made if they are not there.

    Args:
        words: of the study.
        folder: of the campaign; None: a temporary one.
    """
    from studies.decide.planning import GENERATED  # noqa: PLC0415

    with ExitStack() as stack:
        top = Path(stack.enter_context(TemporaryDirectory())) if folder is None else folder
        place = top / GENERATED
        if not (place / "hazards.json").exists() or not (place / "routes.xml").exists():
            generate_declared_routes(words, place)
        yield place


def generate_declared_routes(words: StudyWords, place: Path) -> None:
    """Make the routes that a study declares, with a simulator of carlite."""
    from harness.campaign.planning.plan import get_maps_folder  # noqa: PLC0415
    from harness.world.maps import load_road_network  # noqa: PLC0415
    from harness.world.routes.files import write_routes  # noqa: PLC0415
    from harness.world.routes.generate import generate_in_simulator  # noqa: PLC0415
    from harness.world.routes.hazard_files import write_hazards  # noqa: PLC0415
    from studies.decide.declaration import GeneratedRoutes  # noqa: PLC0415
    from studies.decide.generated import make_first_routes, open_generator_check  # noqa: PLC0415
    from studies.decide.planning import compose_study, list_generated_kinds  # noqa: PLC0415

    asked = words.declaration.routes
    assert isinstance(asked, GeneratedRoutes)
    maps = get_maps_folder(compose_study(words, ()))
    network, kinds = load_road_network(asked.town, maps), list_generated_kinds(words)
    if words.declaration.is_of_generator:
        with ExitStack() as stack:
            check = open_generator_check(stack, asked, maps)
            routes, hazards = make_first_routes(network, asked, kinds, check)
    else:
        routes, hazards = generate_in_simulator(
            network, asked.town, seed=asked.seed, count=asked.count, kinds=kinds, maps=maps
        )
    write_hazards(place / "hazards.json", hazards)
    write_routes(place / "routes.xml", routes)


def show_dry_run(words: StudyWords, folder: Path, generated: bool, parts: Sequence[Path]) -> int:
    """Print the plan of a study; nothing is written."""
    from harness.campaign.printing.terminal import print_campaign_line  # noqa: PLC0415
    from harness.campaign.run import DONE  # noqa: PLC0415
    from studies.decide.continuing import read_earlier_parts, refuse_other_study  # noqa: PLC0415
    from studies.decide.following import show_known_drives  # noqa: PLC0415
    from studies.decide.planning import plan_study  # noqa: PLC0415
    from studies.decide.tables import show_simulated_drives, show_study_plan  # noqa: PLC0415

    with ExitStack() as stack:
        place = stack.enter_context(place_generated_routes(words, None)) if generated else None
        plan = plan_study(words, place)
    earlier = read_earlier_parts(parts, folder)
    if earlier is not None:
        refuse_other_study(plan, earlier)
    show_study_plan(plan)
    show_simulated_drives(plan)
    print_campaign_line(f"{'folder':14}{folder}")
    show_known_drives(0 if earlier is None else len(earlier.attempts))
    return DONE


def drive_and_print(words: StudyWords, folder: Path, generated: bool, parts: Sequence[Path]) -> int:
    """Drive what is left of a study, with a table after each batch."""
    from harness.campaign.folder.campaign_folder import (  # noqa: PLC0415
        lock_campaign,
        refuse_other_settings,
    )
    from harness.common.files import refuse_links  # noqa: PLC0415
    from studies.decide.continuing import (  # noqa: PLC0415
        prepare_continued_folder,
        read_earlier_parts,
        read_packed_outcomes,
        refuse_other_study,
    )
    from studies.decide.driving import prepare_study_folder  # noqa: PLC0415
    from studies.decide.following import follow_and_drive  # noqa: PLC0415
    from studies.decide.planning import plan_study  # noqa: PLC0415

    earlier = read_earlier_parts(parts, folder)
    # without a generator all is planned and checked before the folder is made
    plan = None if generated else plan_study(words, None)
    if plan is not None and earlier is not None:
        refuse_other_study(plan, earlier)
    with lock_campaign(folder), ExitStack() as stack:
        refuse_links(folder)
        if plan is None:
            place = stack.enter_context(place_generated_routes(words, folder))
            plan = plan_study(words, place)
        file = folder / "campaign.yaml"
        if file.exists():
            refuse_other_settings(file, plan.campaign)
        if earlier is None:
            prepare_study_folder(plan, folder)
            return follow_and_drive(plan, folder, {})
        refuse_other_study(plan, earlier)
        prepare_continued_folder(plan, folder, earlier, parts)
        return follow_and_drive(plan, folder, read_packed_outcomes(earlier))
