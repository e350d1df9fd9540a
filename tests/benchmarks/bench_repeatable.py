"""What networks give with `repeatable=true` and without, as digests: for tables of two processors.

Inputs are the same everywhere. Equal digests of two machines mean equal bytes.
"""

from __future__ import annotations

from harness.common.kernels import make_repeatable_environment, read_processor_facts
from tests.campaign.test_repeatable import compute_digests

FACTS = ("vendor_id", "cpu family", "model", "model name")
SHOWN = 16
"""Digits of a digest."""


def run() -> list[tuple[str, str]]:
    """Return the processor, torch's kernels and a digest for each network."""
    facts = read_processor_facts()
    rows = [(f"processor: {name}", facts.get(name, "unknown")) for name in FACTS]
    for title, environment, hold in (
        ("as usual", {}, False),
        ("repeatable", make_repeatable_environment(), True),
    ):
        kernels, digests = compute_digests(environment, hold=hold)
        rows.append((f"{title}: torch's kernels", kernels))
        rows += [(f"{title}: {name}", digest[:SHOWN]) for name, digest in digests.items()]
    return rows
