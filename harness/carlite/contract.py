"""What carlite answers for every member of CARLA's client library, and how closely.

`contract.json` holds it: JSON, because a server must read it without a YAML package and Python 3.10
has no TOML reader. Its `fields` say what a field means. Tests run the rows through the client.
"""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple

STATUSES = ("exact", "approximated", "refused", "client", "not probed")
CONTRACT_FILE = Path(__file__).with_name("contract.json")


class ContractRow(NamedTuple):
    """One member of a class of the client library.

    Attributes:
        status: one of `STATUSES`.
        unit: the unit by CARLA's documentation; empty where there is none.
        how_far: what differs from CARLA, in one sentence.
        line: what the client raises; empty where it does not wait for the answer.
        call: the remote call behind the member, where the client cannot hear of it.
        probe: the test that compares it.
    """

    status: str
    unit: str = ""
    how_far: str = ""
    line: str = ""
    call: str = ""
    probe: str = ""


@cache
def read_contract() -> dict[str, dict[str, ContractRow]]:
    """Return the rows by class and member."""
    classes = json.loads(CONTRACT_FILE.read_text(encoding="utf-8"))["classes"]
    return {
        name: {member: ContractRow(**row) for member, row in rows.items()}
        for name, rows in classes.items()
    }


def count_contract_statuses() -> dict[str, int]:
    """Return how many members have which status, in the order of `STATUSES`."""
    counted = Counter(row.status for rows in read_contract().values() for row in rows.values())
    return {status: counted[status] for status in STATUSES}
