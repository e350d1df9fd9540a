"""The page of the contract, made from `harness/carlite/contract.json`."""

from __future__ import annotations

from harness.carlite.contract import ContractRow, count_contract_statuses, read_contract

MEANINGS = {
    "exact": "as CARLA, and a test compares",
    "approximated": "served with a difference, which the row names",
    "refused": "an error, whose text the row has",
    "client": "the client library alone; no server has a part in it",
    "not probed": "no test of the contract compares it yet",
}


def describe_row(row: ContractRow) -> str:
    """Return the last cell of a row: the difference, or what the client sees."""
    if row.status != "refused":
        return row.how_far
    return f"`{row.line}`" if row.line else "nothing happens; the client waits for no answer"


def contract_page() -> str:
    """Return the page of all members of the client library."""
    parts = [
        "# Contract with CARLA's client",
        "This page lists every member of the `carla` 0.9.16 client library and what carlite does\n"
        "for it. `python -m tests.docs.reference` makes the page from\n"
        "`harness/carlite/contract.json`, and a test compares. Units are those of CARLA's\n"
        "documentation. A test runs every refusal whose text is given. Rows of inherited members\n"
        "stand with the base class. [Protocol](protocol.md) has the remote calls.",
        "World settings, physics controls and gains are sent and read back: 'exact' says there\n"
        "that the same numbers return, not what they do.",
        "\n".join(
            [
                "| status | members | meaning |",
                "| --- | --- | --- |",
                *(
                    f"| {status} | {number} | {MEANINGS[status]} |"
                    for status, number in count_contract_statuses().items()
                ),
            ]
        ),
    ]
    for name, rows in read_contract().items():
        if rows:
            lines = [
                f"| `{member}` | {row.status} | {row.unit} | {describe_row(row)} |"
                for member, row in rows.items()
            ]
            head = ["| member | status | unit | what differs |", "| --- | --- | --- | --- |"]
            parts += [f"## {name}", "\n".join([*head, *lines])]
    return "\n\n".join(parts) + "\n"
