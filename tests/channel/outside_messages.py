"""Other ASN.1 programs and a public capture next to our encoder of ETSI's messages, bit by bit.

    python -m tests.channel.outside_messages [MODULES] [CAPTURE]

`asn1tools` (0.169) and `pycrate` (0.8.1) must be importable; they are no dependencies of Crucible.
pycrate carries EN 302 637-2 and EN 302 637-3. MODULES is a folder with ETSI's own ASN.1 modules of
TS 103 324 and of its data dictionary (`*.asn`), which asn1tools compiles. CAPTURE is a pcap file of
Ethernet frames with GeoNetworking, such as ms-van3t's `sample_trace.pcapng`.

Random values of every field are encoded here, decoded and encoded again there, and the other way
round. Of a capture every message is decoded and encoded here. The exit code is 1 at a difference.
"""

from __future__ import annotations

import random
import struct
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from harness.channel.messages.cam_format import CAM
from harness.channel.messages.cpm import encode_cpm
from harness.channel.messages.cpm_format import CONTAINERS, CPM
from harness.channel.messages.denm_format import DENM
from harness.channel.messages.segmentation import split_cpm
from harness.channel.messages.uper import UperType
from tests.channel.random_messages import make_random_cpm, make_random_value

VALUES, SPLIT = 500, 40
NAMES = {
    1: "OriginatingVehicleContainer",
    2: "OriginatingRsuContainer",
    3: "SensorInformationContainer",
    4: "PerceptionRegionContainer",
    5: "PerceivedObjectContainer",
}
UNREAD = {
    "WITH SUCCESSORS": "",
    "TrafficParticipantType (unknown|passengerCar..tram|agricultural)": "INTEGER (0..14)",
    "SequenceOfCartesianPosition3d (SIZE(3..16,...))": (
        "SEQUENCE (SIZE(3..16,...)) OF CartesianPosition3d"
    ),
}
"""What asn1tools 0.169 does not read: a keyword, and constraints on types by name."""
PORTS = {2001: CAM, 2002: DENM, 2009: CPM}
Coder = Callable[[bytes], tuple[Any, bytes]]
"""Of another program: the value in some bytes, and the bytes of that value."""


def normalise(value: Any) -> Any:
    """Return another program's value in our form."""
    if isinstance(value, dict):
        return {name: normalise(content) for name, content in value.items()}
    if isinstance(value, list):
        return [normalise(item) for item in value]
    if isinstance(value, tuple) and isinstance(value[0], str):
        return value[0], normalise(value[1])
    if isinstance(value, tuple) and isinstance(value[0], bytes):  # asn1tools: bits in bytes
        octets, width = value
        return "".join(f"{octet:08b}" for octet in octets)[:width]
    if isinstance(value, tuple):  # pycrate: bits as a number
        return f"{value[0]:0{value[1]}b}"
    return value


def make_pycrate_coder(kind: Any) -> Coder:
    """Return pycrate's decoder and encoder of a type."""

    def recode(octets: bytes) -> tuple[Any, bytes]:
        kind.from_uper(octets)
        value = kind.get_val()
        kind.set_val(value)
        return normalise(value), kind.to_uper()

    return recode


def make_asn1tools_coder(compiled: Any) -> Coder:
    """Return the decoder and encoder of a CPM by modules that asn1tools compiled.

    Contents of containers are bytes to asn1tools, which it decodes one by one.
    """

    def recode(octets: bytes) -> tuple[Any, bytes]:
        value = compiled.decode("CollectivePerceptionMessage", octets)
        for container in value["payload"]["cpmContainers"]:
            name = NAMES[container["containerId"]]
            container["containerData"] = compiled.decode(name, container["containerData"])
        shown = normalise(value)
        for container in value["payload"]["cpmContainers"]:
            name = NAMES[container["containerId"]]
            container["containerData"] = bytes(compiled.encode(name, container["containerData"]))
        return shown, bytes(compiled.encode("CollectivePerceptionMessage", value))

    return recode


def compare_values(name: str, layout: UperType, recode: Coder) -> bool:
    """Print and return whether another program agrees on random values."""
    rng, sizes, wrong = random.Random(1), [], 0
    for _ in range(VALUES):
        value = make_random_value(layout, rng)
        octets = layout.encode(value)
        theirs, again = recode(octets)
        sizes.append(len(octets))
        if again != octets or theirs != value or layout.decode(octets) != value:
            wrong += 1
            print(f"{name}: different: {octets.hex()}\n  {value}\n  {theirs}")
            if wrong == 3:
                break
    print(f"{name}: {len(sizes)} values of {min(sizes)} to {max(sizes)} bytes, {wrong} different")
    return not wrong


def compare_segments(recode: Coder) -> bool:
    """Print and return whether another program agrees on the segments of large messages."""
    rng, count, wrong = random.Random(2), 0, 0
    for _ in range(SPLIT):
        cpm = make_random_cpm(rng.randrange(40, 200), rng)
        for part in split_cpm(cpm, rng.randrange(300, 1400)):
            octets = encode_cpm(part)
            theirs, again = recode(octets)
            count += 1
            assert part.segment is not None
            stated = theirs["payload"]["managementContainer"]["segmentationInfo"]
            number, total = part.segment
            same = stated == {"totalMsgNo": total, "thisMsgNo": number}
            wrong += again != octets or CPM.decode(octets) != theirs or not same
    print(f"CPM: {count} segments of {SPLIT} messages, {wrong} different")
    return not wrong


def list_captured_messages(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield port and bytes of the messages in a pcap file of Ethernet frames."""
    octets, at = path.read_bytes(), 24
    while at < len(octets):
        size = struct.unpack_from("<I", octets, at + 8)[0]
        frame = octets[at + 16 : at + 16 + size]
        at += 16 + size
        # Ethernet 14, GeoNetworking 4 + 8 + 28 for single-hop broadcast, BTP-B 4
        if frame[12:14] == b"\x89\x47":
            yield struct.unpack_from(">H", frame, 54)[0], frame[58:]


def compare_capture(path: Path) -> bool:
    """Print and return whether each captured message is the same after decoding and encoding."""
    results: Counter[tuple[int, bool]] = Counter()
    for port, octets in list_captured_messages(path):
        if (layout := PORTS.get(port)) is not None:
            results[port, layout.encode(layout.decode(octets)) == octets] += 1
    for (port, same), count in sorted(results.items()):
        print(f"capture, port {port}: {count} messages {'the same' if same else 'different'}")
    return bool(results) and all(same for _, same in results)


def compile_modules(folder: Path) -> Any:
    """Return what asn1tools makes of ETSI's modules, written so that it can read them."""
    import asn1tools  # type: ignore[import-not-found]

    text = "\n".join(path.read_text("latin-1") for path in sorted(folder.glob("*.asn")))
    for modern, plain in UNREAD.items():
        assert modern in text, modern
        text = text.replace(modern, plain)
    return asn1tools.compile_string(text, "uper")


def main(arguments: list[str]) -> int:
    """Compare with what is there; return the exit code."""
    from pycrate_asn1dir import ITS_CAM_2, ITS_DENM_3  # type: ignore[import-not-found]

    results = [
        compare_values("CAM", CAM, make_pycrate_coder(ITS_CAM_2.CAM_PDU_Descriptions.CAM)),
        compare_values("DENM", DENM, make_pycrate_coder(ITS_DENM_3.DENM_PDU_Descriptions.DENM)),
    ]
    for path in map(Path, arguments):
        if path.is_dir():
            coder = make_asn1tools_coder(compile_modules(path))
            results.append(compare_values("CPM", CPM, coder))
            results.append(compare_segments(coder))
            assert set(NAMES) == set(CONTAINERS)
        else:
            results.append(compare_capture(path))
    return int(not all(results))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
