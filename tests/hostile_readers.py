"""Every reader of files from others, each with a small real file."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
import yaml
from safetensors.numpy import save_file

import crucible.verification.reference as references
from agents.conformance.recorded_steps import Recording
from agents.conformance.recorded_steps import read_recording as read_steps
from agents.conformance.recorded_steps import write_recording as write_steps
from agents.perception.operating_point import read_operating_point
from agents.training.side_by_side import read_evaluation
from agents.training.train import read_run_state
from agents.training.weight_files import read_weight_card
from analysis.collection import collect_campaigns
from analysis.regression.sample import read_attempts_table as read_regress_table
from crucible.verification.machine import detect_machine
from harness.campaign.folder.assignments import (
    RouteAssignment,
    list_assigned_routes,
    read_assignment,
)
from harness.campaign.planning.survey import survey_campaign
from harness.carlite.errors import UserError as CarliteError
from harness.carlite.towns.loading import load_town
from harness.common.drivable_area import (
    DRIVABLE_AREA,
    DrivableArea,
    read_drivable_area,
    write_drivable_area,
)
from harness.common.errors import UserError
from harness.common.protocols import hash_protocol
from harness.common.recordings import list_scenarios, read_look
from harness.common.world_states import read_world_state, write_world_state
from harness.evaluation.interventions.error_model import read_error_model
from harness.records.critical import read_critical, write_critical
from harness.records.packing.pack import pack_campaigns
from harness.records.packing.unpack import unpack_campaigns
from harness.records.points import read_point_sweeps
from harness.records.reading import CampaignRecords
from harness.records.schema import POINTS, TABLES
from harness.records.writing import get_storage_options
from harness.types.vocabulary import Route
from harness.world.maps import SHIPPED_TOWNS, load_road_network
from harness.world.routes.checkout import read_traffic_parameters
from harness.world.routes.documents import read_json as read_document
from harness.world.routes.files import read_routes
from harness.world.routes.space import read_space
from studies.metamorphic.storage.packing import read_packed_study
from studies.metamorphic.storage.records import STUDY_SCHEMAS as STUDY_TABLES
from studies.metamorphic.storage.records import (
    make_empty_rows,
    read_study_header,
    read_study_table,
    write_block,
)
from studies.search.ledger import LEDGER_FILE, make_ledger_header, open_ledger, read_ledger
from tests.analysis.little import write_little
from tests.interventions.street import model_with
from tests.studies.critical.little import sizes_with
from tests.world.little_worlds import make_little_world

Read = Callable[[Path, Path], tuple[str, bool]]
"""From a home and a folder for output: what comes out, and whether files are called damaged."""


@dataclass(frozen=True)
class Reader:
    """A reader, and a file that it reads."""

    name: str
    file: str  # below the home
    kind: str  # of file
    read: Read
    opens: bool = field(default=True, kw_only=True)  # the file, and not only its name
    named: bool = field(default=False, kw_only=True)  # by the user: it may be a link


def status(home: Path, _: Path) -> tuple[str, bool]:
    """`crucible status`."""
    state = survey_campaign(home / "main")
    return repr(state), bool(state.troubles)


def tables(home: Path, _: Path) -> tuple[str, bool]:
    """What `crucible tables` and others read."""
    collection = collect_campaigns([home / "main"], whole=True)
    return repr(collection.notes), bool(len(collection.left_out))


def packing(home: Path, out: Path) -> tuple[str, bool]:
    """`crucible pack`: all that goes out."""
    pack_campaigns([home / "main"], out / "part.parquet")
    table = pq.read_table(out / "part.parquet", columns=["text", "timing", "name"])
    return repr(table.to_pydict()), False


def unpacking(home: Path, out: Path) -> tuple[str, bool]:
    """`crucible unpack`."""
    return repr(unpack_campaigns([home / "part.parquet"], out / "study")), False


def routes(home: Path, _: Path) -> tuple[str, bool]:
    """What an attempt drives."""
    names = list_assigned_routes(home / "main")
    return repr([read_assignment(home / "main", name) for name in names]), False


def timings(home: Path, _: Path) -> tuple[str, bool]:
    """All `timing.json`."""
    campaign = CampaignRecords(home / "main")
    return repr([campaign.read_timing(key) for key in campaign.find_attempts()]), False


def recording(home: Path, _: Path) -> tuple[str, bool]:
    """A recorded scene."""
    (one,) = list_scenarios(home / "recording")
    return repr(read_look(one.folder, 7, "000000")), False


def drivable_area(home: Path, _: Path) -> tuple[str, bool]:
    """Where the roads of a recorded scene lie."""
    return repr(read_drivable_area(home / "recording" / "a")), False


def world_state(home: Path, _: Path) -> tuple[str, bool]:
    """What the pictures of a recorded scene show."""
    return repr(read_world_state(home / "recording" / "a", "000000")), False


def town(home: Path, _: Path) -> tuple[str, bool]:
    """A map, as carlite reads it."""
    try:
        return load_town("Small", home / "maps").name, False
    except CarliteError as problem:
        raise UserError(str(problem)) from None


def simple(read: Callable[[Path], object]) -> Read:
    """Return a reader of the home."""
    return lambda home, _: (repr(read(home)), False)


EVALUATED = ("scheme", "training", "data", "conditions", "average precision")
DRIVEN = (("late", "none"), ("late", "latency"))
ATTEMPT = "main/episodes/late/ahead/none/0-s1/try1"
READERS: tuple[Reader, ...] = (
    *(
        Reader(
            f"{name} {file}", f"main/{file}", kind, read, opens=(name, kind) != ("status", "json")
        )
        for name, read in (("status", status), ("tables", tables), ("pack", packing))
        for file, kind in (
            ("campaign.yaml", "yaml"),
            ("ledger.jsonl", "ledger"),
            ("routes/0.json", "json"),
        )
    ),
    *(
        Reader(f"{name} result.json", f"{ATTEMPT}/result.json", "json", read)
        for name, read in (("status", status), ("tables", tables), ("pack", packing))
    ),
    *(Reader(f"tables {name}", f"{ATTEMPT}/{name}.parquet", "parquet", tables) for name in TABLES),
    Reader("pack frames", f"{ATTEMPT}/frames.parquet", "parquet", packing),
    Reader("pack boxes", f"{ATTEMPT}/boxes.parquet", "parquet", packing),
    Reader("pack timing.json", f"{ATTEMPT}/timing.json", "json", packing),
    Reader("timing.json", f"{ATTEMPT}/timing.json", "json", timings),
    Reader("routes", "main/routes/0.json", "json", routes),
    Reader("unpack", "part.parquet", "parquet", unpacking),
    Reader(
        "critical",
        "main/critical/latency.json",
        "json",
        simple(lambda h: read_critical(h / "main", "latency")),
    ),
    Reader("pack critical", "main/critical/latency.json", "json", packing),
    Reader(
        "points",
        "points/points.parquet",
        "parquet",
        simple(lambda h: read_point_sweeps(h / "points")),
    ),
    Reader(
        "reference",
        "reference.json",
        "json",
        simple(lambda h: references.read_reference(h / "reference.json")),
    ),
    Reader("protocol", "protocol.md", "csv", simple(lambda h: hash_protocol(h / "protocol.md"))),
    Reader("routes xml", "routes.xml", "xml", simple(lambda h: read_routes(h / "routes.xml"))),
    Reader(
        "hazards",
        "hazards.json",
        "json",
        simple(lambda h: read_document(h / "hazards.json")),
        named=True,
    ),
    Reader(
        "space",
        "space.yaml",
        "yaml",
        simple(lambda h: read_space(h / "space.yaml", ["cut_in"])),
        named=True,
    ),
    Reader(
        "checkout",
        "traffic.yaml",
        "yaml",
        simple(lambda h: read_traffic_parameters(h / "traffic.yaml")),
    ),
    Reader(
        "map",
        "maps/Small.xodr",
        "xml",
        simple(lambda h: load_road_network.__wrapped__("Small", h / "maps")),
    ),
    Reader("carlite's map", "maps/Small.xodr", "xml", town),
    Reader("scene", "recording/a/7/000000.yaml", "json", recording),
    Reader("sweep", "recording/a/7/000000.npy", "npy", recording),
    Reader("drivable area", f"recording/a/{DRIVABLE_AREA}", "json", drivable_area),
    Reader("world state", "recording/a/000000.world.npz", "zip", world_state),
    Reader("scenario", "recording/a/data_protocol.yaml", "json", recording),
    Reader("recorded steps", "steps.npz", "zip", simple(lambda h: read_steps(h / "steps.npz"))),
    Reader("errors", "errors.json", "json", simple(lambda h: read_error_model(h / "errors.json"))),
    Reader(
        "search",
        f"search/{LEDGER_FILE}",
        "ledger",
        simple(lambda h: read_ledger(h / "search" / LEDGER_FILE)),
    ),
    Reader(
        "study header",
        "study/header.json",
        "json",
        simple(lambda h: read_study_header(h / "study")),
    ),
    Reader(
        "study table",
        "study/parts/00000.measures.parquet",
        "parquet",
        simple(lambda h: read_study_table(h / "study", "measures")),
    ),
    Reader(
        "packed study",
        "study.parquet",
        "parquet",
        simple(lambda h: read_packed_study(h / "study.parquet")),
    ),
    Reader(
        "regress csv", "table.csv", "csv", simple(lambda h: read_regress_table(h / "table.csv"))
    ),
    Reader(
        "regress parquet",
        "table.parquet",
        "parquet",
        simple(lambda h: read_regress_table(h / "table.parquet")),
    ),
    Reader("training state", "state.pt", "zip", simple(lambda h: read_run_state(h / "state.pt"))),
    Reader("card", "w.json", "json", simple(lambda h: read_weight_card(h / "w.safetensors"))),
    Reader(
        "evaluation",
        "evaluation.json",
        "json",
        simple(lambda h: read_evaluation(h / "evaluation.json")),
    ),
    Reader(
        "weights",
        "w.safetensors",
        "weights",
        simple(lambda h: read_operating_point(h / "w.safetensors", "late")),
    ),
)
"""All of them."""


def write_home(home: Path) -> None:
    """Write every reader's file."""
    # two attempts: enough to find another one than the hostile, and few to read for every trick
    main = write_little(home / "main", arms=DRIVEN, routes=("0",), seeds=(1,))
    pack_campaigns([main], home / "part.parquet")
    header = yaml.safe_load((main / "campaign.yaml").read_text())
    header["settings"] |= {"cooperation": {"ahead": {}}, "intervention": {"none": {}}}
    header["settings"] |= {"interference": {"none": {}, "latency": {}}}
    header["settings"] |= {"study": {"name": "a"}}
    (main / "campaign.yaml").write_text(yaml.safe_dump(header))
    (main / "critical").mkdir()
    write_critical(main, sizes_with())
    (main / "routes" / "0.json").write_text(RouteAssignment(straight(), (), None).to_json())
    (main / "twins").mkdir()
    (main / "twins" / "campaign.yaml").write_text((main / "campaign.yaml").read_text())
    for name, content in (
        ("hazards.json", {"available_scenarios": []}),
        ("evaluation.json", dict.fromkeys(EVALUATED, "late")),
        ("w.json", {"scheme": "late"}),
    ):
        (home / name).write_text(json.dumps(content))
    (home / "errors.json").write_text(model_with().format_text())
    references.StudyReference(
        schema=1,
        protocol=None,
        count=1,
        towns={},
        campaigns=(),
        machine=detect_machine(),
        placebo=None,
    ).write_json(home / "reference.json")
    (home / "protocol.md").write_text("A protocol.\n")
    (home / "routes.xml").write_text(
        '<routes><route id="0" town="Crucible05"><waypoint x="1" y="2" z="0"/>'
        '<waypoint x="9" y="2" z="0"/></route></routes>'
    )
    (home / "space.yaml").write_text(yaml.safe_dump({}) or "{}")
    background = {"vehicle_amount": 1, "pedestrian_amount": 1, "CRAZY_LEVEL": 0}
    traffic = {"Background": {**background, "CRAZY_PROPORTION": 0}}
    (home / "traffic.yaml").write_text(yaml.safe_dump(traffic))
    (home / "maps").mkdir()
    (home / "maps" / "Small.xodr").write_bytes((SHIPPED_TOWNS / "CrucibleOld.xodr").read_bytes())
    write_recording(home / "recording" / "a")
    road = DrivableArea(cell=0.25, corner=(0.0, 0.0), drivable=np.ones((4, 4), np.bool_))
    write_drivable_area(road, home / "recording" / "a")
    write_world_state(home / "recording" / "a", "000000", make_little_world())
    write_steps(home / "steps.npz", Recording(straight(), ()))
    (home / "search").mkdir()
    with open_ledger(home / "search", make_ledger_header({"a": 1}, {})):
        pass
    write_studies(home)
    torch.save({"config": {}}, home / "state.pt")
    save_file({"a": np.zeros(3, np.float32)}, home / "w.safetensors")
    (home / "points").mkdir()
    rows = {"frame": [0], "sender": ["ego"], "points": [bytes(80)]}
    arrays = [
        pa.array(rows[field.name]).cast(field.type)
        if not pa.types.is_dictionary(field.type)
        else pa.array(rows[field.name]).dictionary_encode().cast(field.type)
        for field in POINTS
    ]
    table = pa.Table.from_arrays(arrays, schema=POINTS)
    pq.write_table(
        table, home / "points" / "points.parquet", **get_storage_options("points", POINTS)
    )


def write_recording(folder: Path) -> None:
    """Write a recorded scene."""
    (folder / "7").mkdir(parents=True)
    protocol = {"town": "Crucible05", "purpose": "testing", "seed": 1}
    (folder / "data_protocol.yaml").write_text(json.dumps(protocol))
    look = {"time": 0.0, "lidar_pose": [0.0] * 6, "vehicles": {}, "parked": []}
    (folder / "7" / "000000.yaml").write_text(json.dumps(look))
    np.save(folder / "7" / "000000.npy", np.zeros((5, 4), np.int16))


def write_studies(home: Path) -> None:
    """Write tables of studies."""
    (home / "study").mkdir()
    (home / "study" / "header.json").write_text("{}")
    rows = make_empty_rows()
    rows["measures"] = [{"scene": "a", "cluster": "a", "system": "late", "operator": "none"}] * 9
    write_block(home / "study", 0, rows)
    whole = pa.table({"table": pa.array(["measures"] * 3)})
    for schema in STUDY_TABLES.values():
        for one in schema:
            if one.name not in whole.column_names:
                whole = whole.append_column(one, pa.nulls(3, one.type))
    pq.write_table(
        whole.replace_schema_metadata({b"crucible_study": b"{}"}), home / "study.parquet"
    )
    frame = collect_campaigns([home / "main"], whole=True).attempts
    frame.to_csv(home / "table.csv")
    frame.to_parquet(home / "table.parquet")


def straight() -> Route:
    """Return a straight route of nine metres."""
    count = 10
    along = np.arange(float(count))
    return Route(
        name="0",
        town="Crucible05",
        xyz=np.stack([along, np.zeros(count), np.zeros(count)], axis=1),
        yaw=np.zeros(count),
        station=along,
        lane_width=np.full(count, 3.5),
        speed_limit=np.full(count, 8.0),
        in_junction=np.zeros(count, bool),
        lane_change=np.zeros(count, bool),
    )
