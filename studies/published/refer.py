"""The study's reference.json, for `crucible verify`, from the packed parts that have this lock.

python studies/published/refer.py TOWNS [--elsewhere NAME ...]

TOWNS has the test towns. Campaigns that were driven with other packages than are here are left out.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from crucible.subcommands import dispatch_subcommand as crucible
from crucible.verification.machine import detect_machine
from harness.records.arms import CONDITION
from harness.records.packing.parts import PackedCampaign, read_packed_campaigns

STUDY = Path(__file__).parent
PLACEBO = "placebo"
ONLY = "routes.only="


def main(towns: str, rest: Sequence[str]) -> int:
    """Write the reference of all campaigns that can be driven again here."""
    versions = dict(detect_machine().versions)
    files, made_by, conditions = [], [], set()
    for file in sorted(STUDY.glob("parts/*.parquet")):
        campaigns = read_packed_campaigns([file]).values()
        if other := [one.name for one in campaigns if one.contents.get("versions") != versions]:
            print(f"{file.name}: other packages, left out: {', '.join(other)}")
            continue
        files.append(str(file))
        for campaign in campaigns:
            if not campaign.holds_twins:  # `crucible critical` drove those
                made_by += ["--made-by", campaign.name, *words_of(campaign)]
            conditions |= {attempt.key.arm[CONDITION] for attempt in campaign.attempts}
    placebo = ["--placebo", PLACEBO] if PLACEBO in conditions else []
    protocol = ["--protocol", str(STUDY / "protocol.md"), "--maps", towns]
    out = ["--out", str(STUDY / "reference.json")]
    return crucible(["reference", *files, *protocol, *placebo, *made_by, *rest, *out])


def words_of(campaign: PackedCampaign) -> Iterator[str]:
    """Yield the words of the command that drove a piece, or some routes of one."""
    piece = re.sub(r"(?<=\d)[a-z]$", "", campaign.name)
    drive = [str(STUDY / "drive"), piece, "--words"]
    lines = subprocess.run(drive, capture_output=True, text=True, check=True).stdout.splitlines()
    routes = sorted({attempt.key.route for attempt in campaign.attempts}, key=int)
    for word in lines:
        yield f"{ONLY}[{','.join(routes)}]" if word.startswith(ONLY) else word


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python studies/published/refer.py TOWNS [--elsewhere NAME ...]")
    sys.exit(main(sys.argv[1], sys.argv[2:]))
