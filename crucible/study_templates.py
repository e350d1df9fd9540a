"""The files of a registered study that `crucible new study` writes, next to its settings."""

from __future__ import annotations

README = """# @NAME@

A registered study: the protocol is written and committed before the first drive.

| step | command |
|---|---|
| 1. Write question, drives and analysis into `protocol.md`; change `study/@NAME@.yaml` | |
| 2. Look at the plan | `crucible run --config-dir . study=@NAME@ dry_run=true` |
| 3. Commit both, and name nothing of the outcome | `git add . && git commit` |
| 4. Drive; the same command resumes | `./drive` |
| 5. Pack, compare, write the tables | `./analyse` |
| 6. List in `protocol.md` what was done otherwise | |
| 7. Publish this folder without `runs` and `build` | others: `crucible verify reference.json` |

Steps 4 and 5 take some minutes as they stand: 48 drives without networks.
"""
PROTOCOL = """# Protocol of @NAME@

Written and committed before the first drive. What is done otherwise is listed at the end.

## Question

Does a roadside unit prevent violations, and do late messages take that away?

## What was seen before

Nothing of these routes was driven. (Write down every drive of these routes that was seen.)

## Drives

| | |
|---|---|
| routes | the 16 of `routes=town05_sudden`; none is left out |
| systems | `ideal_single`, `ideal_late` |
| conditions | none; `latency`, 0.5 to 1 s |
| seeds | 1 |
| drives | 3 arms, 16 routes, 1 seed: 48 |

Failed attempts are driven again as every campaign does. What stays without a result is counted.

## Outcome and analysis

The outcome is the violation of a drive. Pairs are drives of equal route and seed. `crucible
compare` gives differences with 95 % intervals over routes, and sign-flip tests. Its two comparisons
are one family with Holm's correction at 5 %.

| comparison | claim if |
|---|---|
| `ideal_late` less `ideal_single`, none | the corrected p is below 0.05 |
| `ideal_late`: latency less none | the corrected p is below 0.05 |

Everything else is described and not tested. If the interval lies within ±10 points, the page says
*no difference*.

## Power

`crucible power` says how many routes show an effect of a given size. With 16 routes, at least six
must differ, all in one direction, before a p is below 0.05.

## If time runs out

Routes are left out from the end of the list, for all arms alike.

## Deviations

None so far.
"""
DRIVE = """#!/usr/bin/env bash
# Drives what is left of the study; the same command resumes. Arguments are further settings.
set -euo pipefail
cd "$(dirname "$0")"
crucible run --config-dir . study=@NAME@ out=runs/main "$@"
"""
ANALYSE = """#!/usr/bin/env bash
# Packs the drives, writes the reference for `crucible verify`, makes tables of the packed file.
set -euo pipefail
cd "$(dirname "$0")"
crucible pack runs/main --out packed/part-1.parquet
crucible reference packed/part-1.parquet --protocol protocol.md --out reference.json
rm -rf build
crucible unpack packed/part-1.parquet --out build
crucible tables build/main --out tables
crucible compare build/main ideal_late/none ideal_single/none ideal_late/latency --out tables
"""
IGNORED = "runs/\nbuild/\n"
STUDY_FILES = {
    "README.md": README,
    "protocol.md": PROTOCOL,
    "drive": DRIVE,
    "analyse": ANALYSE,
    ".gitignore": IGNORED,
}
"""By their paths in the folder; `drive` and `analyse` are programs."""
PROGRAMS = ("drive", "analyse")
