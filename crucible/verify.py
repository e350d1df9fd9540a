"""`crucible verify`: drives a sample of a published study again, and compares the records.

On a machine like the machine that drove the study, records must be equal byte for byte. On another
machine, the command prints the share of attempts that end alike, next to the same share of repeats
with a placebo. Each attempt has a verdict: identical, within tolerance, differs. The tolerance is
for another processor. Exit codes: 0 identical or within tolerance; 1 a definition changed; 2 bad
input; 3 an attempt could not be driven; 4 an attempt differs, and another machine may explain that.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from harness.common.command_registry import CommandDeclaration
from harness.common.options import OneLineParser

COMMAND = CommandDeclaration(
    group="Studies",
    rank=30,
    purpose="drive a sample of a published study again, and compare the records",
    extra="run,analysis",
    examples=(
        "crucible verify reference.json",
        "crucible verify reference.json --sample 40 --seed 2 --maps towns --workers 2",
    ),
)


DEFAULT_SAMPLE = 20
CHANGED, NO_ANSWER, DIFFERENT = 1, 3, 4


def main(arguments: Sequence[str], program: str = "crucible verify") -> int:
    """Do what the command line asks for; bad input is one line and exit code 2."""
    parser = OneLineParser(prog=program, description=__doc__)
    add = parser.add_argument
    add("reference", type=Path, metavar="FILE", help="reference.json of a study")
    add(
        "--sample",
        type=int,
        default=DEFAULT_SAMPLE,
        metavar="N",
        help="number of attempts to drive again (default: %(default)s)",
    )
    add(
        "--seed", type=int, default=1, metavar="S", help="seed of the sample (default: %(default)s)"
    )
    add(
        "--maps",
        type=Path,
        metavar="DIR",
        help=(
            "folder of the study's OpenDRIVE files (default: generate the towns from the protocol)"
        ),
    )
    add(
        "--workers",
        type=int,
        default=1,
        metavar="K",
        help="attempts at a time (default: %(default)s)",
    )
    add(
        "--out",
        type=Path,
        metavar="DIR",
        help=("folder for the new records; the same command resumes (default: runs/verify-DIGEST)"),
    )
    add(
        "--exact",
        action="store_true",
        help="demand equal bytes of all attempts, on any machine (exit code 1 otherwise)",
    )
    add(
        "--trust",
        action="store_true",
        help=(
            "build all classes that the packed settings name (default: only classes that"
            " declare safe_from_file)"
        ),
    )
    options = parser.parse_args(arguments)
    from harness.campaign.run import run_with_exit_code  # noqa: PLC0415 - takes a second

    return run_with_exit_code("verify", lambda: run_verify_command(options))


def run_verify_command(options: argparse.Namespace) -> int:
    """Check files, drive, compare and print; return the exit code."""
    from crucible.verification.comparing import (  # noqa: PLC0415
        check_reference_files,
        drive_and_compare_sample,
        prepare_redrive,
    )
    from crucible.verification.decided import check_decided_campaigns  # noqa: PLC0415
    from crucible.verification.driving import RedriveSettings  # noqa: PLC0415
    from crucible.verification.machine import detect_machine, list_machine_differences  # noqa: PLC0415
    from crucible.verification.printing import print_redrive_comparison  # noqa: PLC0415
    from crucible.verification.reference import read_reference  # noqa: PLC0415
    from crucible.verification.revisions import (  # noqa: PLC0415
        describe_other_revision,
        list_study_revisions,
    )
    from harness.campaign.folder.campaign_folder import read_git_revision  # noqa: PLC0415
    from harness.campaign.printing.terminal import print_campaign_line  # noqa: PLC0415
    from harness.common.errors import UserError  # noqa: PLC0415
    from harness.records.digests import hash_file  # noqa: PLC0415

    # what is asked for
    for name in ("sample", "workers"):
        if getattr(options, name) < 1:
            raise UserError(f"--{name} {getattr(options, name)}: must be ≥ 1")
    reference = read_reference(options.reference)
    out = options.out or Path("runs") / f"verify-{hash_file(options.reference)[:8]}"
    again = RedriveSettings(
        out=out, maps=options.maps, protocol=None, workers=options.workers, trust=options.trust
    )
    # files of the study: what changed there is not driven again
    changed, campaigns = check_reference_files(options.reference, reference)
    if not changed:
        changed, again = prepare_redrive(options.reference, reference, again)
    # studies of `crucible decide`: their decisions are made again from the packed results
    if not changed:
        changed, decided = check_decided_campaigns(campaigns, again.maps)
        for line in decided:
            print_campaign_line(line)
    for line in changed:
        print_campaign_line(f"changed: {line}")
    if changed:
        return CHANGED
    other = describe_other_revision(list_study_revisions(campaigns.values()), read_git_revision())
    if other:
        print_campaign_line(f"revision: {other}")
    # drive a sample and compare
    here = detect_machine()
    comparison = drive_and_compare_sample(
        reference,
        campaigns,
        again,
        count=options.sample,
        seed=options.seed,
        here=here,
        exact=options.exact,
    )
    print_redrive_comparison(comparison, list_machine_differences(reference.machine, here))
    if other and not all(one.same_bytes for one in comparison.redriven):
        print_campaign_line("the other revision, named above, may explain what differs")
    if comparison.changed:
        return CHANGED
    if comparison.without_result:
        return NO_ANSWER
    return DIFFERENT if comparison.differ else 0
