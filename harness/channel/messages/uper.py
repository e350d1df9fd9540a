"""Unaligned packed encoding rules (UPER, ITU-T X.691) for the types that ETSI's messages use.

A type writes a value to bits and reads it again. Values are plain: `int`, `bool`, names of
enumerations, bits as text such as "0110", `bytes`, lists, dictionaries by field, and for choices a
pair of the alternative's name and its value. Optional fields without a value are left out.

Extension additions that a newer sender wrote are skipped; none are written. Why this is written
here: decision 0118.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from harness.channel.messages.bits import BitReader, BitWriter
from harness.channel.messages.errors import MessageError

LONGEST = 1 << 14
"""Bytes or items from which UPER cuts contents into fragments, which no message here needs."""


class UperType(ABC):
    """How values of one type are written as bits."""

    @abstractmethod
    def write(self, bits: BitWriter, value: Any) -> None:
        """Append a value.

        Raises:
            MessageError: the type does not have this value.
        """

    @abstractmethod
    def read(self, bits: BitReader) -> Any:
        """Return the next value.

        Raises:
            MessageError: the bits are no value of this type.
        """

    def encode(self, value: Any) -> bytes:
        """Return a value as a whole number of bytes."""
        bits = BitWriter()
        self.write(bits, value)
        return bits.to_octets()

    def decode(self, octets: bytes) -> Any:
        """Return the value in some bytes; what follows it must be less than a byte of zeros."""
        bits = BitReader(octets)
        value = self.read(bits)
        if bits.left >= 8 and not (len(octets) == 1 and bits.left == 8):
            raise MessageError(f"{bits.left // 8} bytes are left after the message")
        return value


@dataclass(frozen=True, slots=True)
class Integer(UperType):
    """A whole number between two bounds; an extensible one may lie outside of them."""

    lowest: int
    highest: int
    extensible: bool = False

    def write(self, bits: BitWriter, value: Any) -> None:
        """Append the distance from the lower bound, in as many bits as the range needs."""
        inside = isinstance(value, int) and self.lowest <= value <= self.highest
        if self.extensible:
            bits.write_bits(int(not inside), 1)
            if isinstance(value, int) and not inside:
                return write_unbounded(bits, value)
        if not inside:
            raise MessageError(f"{value!r} is no number from {self.lowest} to {self.highest}")
        return bits.write_bits(value - self.lowest, count_bits(self.lowest, self.highest))

    def read(self, bits: BitReader) -> int:
        """Return the number."""
        if self.extensible and bits.read_bits(1):
            return read_unbounded(bits)
        value = self.lowest + bits.read_bits(count_bits(self.lowest, self.highest))
        if value > self.highest:
            raise MessageError(f"{value} is no number from {self.lowest} to {self.highest}")
        return value


@dataclass(frozen=True, slots=True)
class Boolean(UperType):
    """Yes or no."""

    def write(self, bits: BitWriter, value: Any) -> None:
        """Append a bit."""
        bits.write_bits(int(bool(value)), 1)

    def read(self, bits: BitReader) -> bool:
        """Return the bit."""
        return bool(bits.read_bits(1))


@dataclass(frozen=True, slots=True)
class Enumerated(UperType):
    """One of some names; `added` ones are extensions."""

    names: tuple[str, ...]
    extensible: bool = False
    added: tuple[str, ...] = ()

    def write(self, bits: BitWriter, value: Any) -> None:
        """Append the number of the name."""
        if value in self.added:
            bits.write_bits(1, 1)
            return write_small(bits, self.added.index(value))
        if value not in self.names:
            raise MessageError(f"{value!r} is none of {', '.join(self.names)}")
        if self.extensible:
            bits.write_bits(0, 1)
        return bits.write_bits(self.names.index(value), count_bits(0, len(self.names) - 1))

    def read(self, bits: BitReader) -> str:
        """Return the name."""
        if self.extensible and bits.read_bits(1):
            return pick_item(self.added, read_small(bits), "enumeration")
        return pick_item(
            self.names, bits.read_bits(count_bits(0, len(self.names) - 1)), "enumeration"
        )


@dataclass(frozen=True, slots=True)
class Size:
    """How many items or bytes there may be."""

    lowest: int
    highest: int
    extensible: bool = False

    def write(self, bits: BitWriter, size: int) -> None:
        """Append a number of items."""
        inside = self.lowest <= size <= self.highest
        if self.extensible:
            bits.write_bits(int(not inside), 1)
        if inside:
            bits.write_bits(size - self.lowest, count_bits(self.lowest, self.highest))
        elif self.extensible:
            write_length(bits, size)
        else:
            raise MessageError(f"{size} items, not {self.lowest} to {self.highest}")

    def read(self, bits: BitReader) -> int:
        """Return a number of items."""
        if self.extensible and bits.read_bits(1):
            return read_length(bits)
        size = self.lowest + bits.read_bits(count_bits(self.lowest, self.highest))
        if size > self.highest:
            raise MessageError(f"{size} items, not {self.lowest} to {self.highest}")
        return size


@dataclass(frozen=True, slots=True)
class BitString(UperType):
    """Bits, as text of zeros and ones."""

    size: Size

    def write(self, bits: BitWriter, value: Any) -> None:
        """Append the bits."""
        if not isinstance(value, str) or set(value) - {"0", "1"}:
            raise MessageError(f"{value!r} is no text of zeros and ones")
        self.size.write(bits, len(value))
        bits.write_bits(int(value or "0", 2), len(value))

    def read(self, bits: BitReader) -> str:
        """Return the bits."""
        size = self.size.read(bits)
        return f"{bits.read_bits(size):0{size}b}" if size else ""


@dataclass(frozen=True, slots=True)
class OctetString(UperType):
    """Bytes; None of a size: any number of them."""

    size: Size | None = None

    def write(self, bits: BitWriter, value: Any) -> None:
        """Append their number, and the bytes."""
        if self.size is None:
            write_length(bits, len(value))
        else:
            self.size.write(bits, len(value))
        bits.write_octets(value)

    def read(self, bits: BitReader) -> bytes:
        """Return the bytes."""
        size = read_length(bits) if self.size is None else self.size.read(bits)
        return bits.read_octets(size)


@dataclass(frozen=True, slots=True)
class Text(UperType):
    """Characters of one alphabet, each in as many bits as the alphabet needs."""

    alphabet: str
    size: Size

    def write(self, bits: BitWriter, value: Any) -> None:
        """Append the characters."""
        self.size.write(bits, len(value))
        for character in value:
            if character not in self.alphabet:
                raise MessageError(f"{character!r} is not in the alphabet of this text")
            at = self.alphabet.index(character)
            bits.write_bits(at, count_bits(0, len(self.alphabet) - 1))

    def read(self, bits: BitReader) -> str:
        """Return the characters."""
        width = count_bits(0, len(self.alphabet) - 1)
        size = self.size.read(bits)
        return "".join(pick_item(self.alphabet, bits.read_bits(width), "text") for _ in range(size))


@dataclass(frozen=True, slots=True)
class Utf8Text(UperType):
    """Text in UTF-8, as bytes with their number before them."""

    def write(self, bits: BitWriter, value: Any) -> None:
        """Append the bytes of the text."""
        OctetString().write(bits, value.encode())

    def read(self, bits: BitReader) -> str:
        """Return the text."""
        try:
            return OctetString().read(bits).decode()
        except UnicodeDecodeError as problem:
            raise MessageError(f"no text: {problem}") from problem


@dataclass(frozen=True, slots=True)
class SequenceOf(UperType):
    """Values of one type, in order."""

    item: UperType
    size: Size

    def write(self, bits: BitWriter, value: Any) -> None:
        """Append their number, and each."""
        self.size.write(bits, len(value))
        for item in value:
            self.item.write(bits, item)

    def read(self, bits: BitReader) -> list[Any]:
        """Return them as a list."""
        return [self.item.read(bits) for _ in range(self.size.read(bits))]


@dataclass(frozen=True, slots=True)
class Maybe:
    """A field that may be absent; one with a default is absent where it has that value."""

    type: UperType
    default: Any = None


@dataclass(frozen=True, slots=True)
class Sequence(UperType):
    """Fields by name, in order."""

    fields: dict[str, UperType | Maybe]
    extensible: bool = False

    def write(self, bits: BitWriter, value: Any) -> None:
        """Append which optional fields there are, and the fields."""
        if unknown := value.keys() - self.fields.keys():
            raise MessageError(f"unknown field {min(unknown)} (valid: {', '.join(self.fields)})")
        if self.extensible:
            bits.write_bits(0, 1)
        # a bit for each optional field, before all fields
        present: list[tuple[str, UperType]] = []
        for name, field in self.fields.items():
            if isinstance(field, Maybe):
                there = value.get(name) is not None and value[name] != field.default
                bits.write_bits(int(there), 1)
                if there:
                    present.append((name, field.type))
            elif name in value:
                present.append((name, field))
            else:
                raise MessageError(f"{name} is missing")
        for name, kind in present:
            with_place(name, kind.write, bits, value[name])

    def read(self, bits: BitReader) -> dict[str, Any]:
        """Return the fields that are there, and the defaults of others."""
        extended = self.extensible and bits.read_bits(1)
        there = {
            name: bool(bits.read_bits(1))
            for name, field in self.fields.items()
            if isinstance(field, Maybe)
        }
        value: dict[str, Any] = {}
        for name, field in self.fields.items():
            if not isinstance(field, Maybe):
                value[name] = with_place(name, field.read, bits)
            elif there[name]:
                value[name] = with_place(name, field.type.read, bits)
            elif field.default is not None:
                value[name] = field.default
        if extended:
            skip_additions(bits)
        return value


@dataclass(frozen=True, slots=True)
class Choice(UperType):
    """One of some alternatives by name, with its value."""

    alternatives: dict[str, UperType]
    extensible: bool = False

    def write(self, bits: BitWriter, value: Any) -> None:
        """Append which alternative it is, and its value."""
        name, content = value
        if name not in self.alternatives:
            raise MessageError(f"{name!r} is none of {', '.join(self.alternatives)}")
        if self.extensible:
            bits.write_bits(0, 1)
        names = tuple(self.alternatives)
        bits.write_bits(names.index(name), count_bits(0, len(names) - 1))
        with_place(name, self.alternatives[name].write, bits, content)

    def read(self, bits: BitReader) -> tuple[str, Any]:
        """Return the alternative's name and its value."""
        if self.extensible and bits.read_bits(1):
            raise MessageError("an alternative of a later version of the standard")
        names = tuple(self.alternatives)
        name = pick_item(names, bits.read_bits(count_bits(0, len(names) - 1)), "choice")
        return name, with_place(name, self.alternatives[name].read, bits)


@dataclass(frozen=True, slots=True)
class OpenField(UperType):
    """A number that names a type, and a value of that type with its length in bytes before it.

    The value of an unknown type is its bytes.
    """

    number: str  # the names of the two fields
    content: str
    numbers: Integer
    types: dict[int, UperType]

    def write(self, bits: BitWriter, value: Any) -> None:
        """Append the number and the value."""
        self.numbers.write(bits, value[self.number])
        kind = self.types.get(value[self.number])
        content = value[self.content]
        OctetString().write(bits, kind.encode(content) if kind else content)

    def read(self, bits: BitReader) -> dict[str, Any]:
        """Return the number and the value."""
        number = self.numbers.read(bits)
        octets = OctetString().read(bits)
        kind = self.types.get(number)
        return {self.number: number, self.content: kind.decode(octets) if kind else octets}


def sequence(**fields: UperType | Maybe) -> Sequence:
    """Return a sequence of these fields that no later version extends."""
    return Sequence(fields)


def open_sequence(**fields: UperType | Maybe) -> Sequence:
    """Return an extensible sequence of these fields."""
    return Sequence(fields, extensible=True)


def with_place(name: str, call: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a call returns; an error's message gets the field's name before it."""
    try:
        return call(*arguments)
    except MessageError as problem:
        text = str(problem)
        raise MessageError(f"{name}.{text}" if ":" in text else f"{name}: {text}") from None


def count_bits(lowest: int, highest: int) -> int:
    """Return the bits that a number between two bounds needs."""
    return (highest - lowest).bit_length()


def pick_item(items: str | tuple[str, ...], number: int, what: str) -> str:
    """Return an item by its number."""
    if number >= len(items):
        raise MessageError(f"no value of this {what} has the number {number}")
    return items[number]


def write_length(bits: BitWriter, size: int) -> None:
    """Append a length that has no upper bound: one byte below 128, else two."""
    if size >= LONGEST:
        raise MessageError(f"{size} bytes or items; fewer than {LONGEST} can be written")
    if size < 128:
        bits.write_bits(size, 8)
    else:
        bits.write_bits(0b10 << 14 | size, 16)


def read_length(bits: BitReader) -> int:
    """Return a length that has no upper bound."""
    if not bits.read_bits(1):
        return bits.read_bits(7)
    if bits.read_bits(1):
        raise MessageError("contents in fragments of 16384 bytes")
    return bits.read_bits(14)


def write_unbounded(bits: BitWriter, value: int) -> None:
    """Append a whole number without bounds: its bytes in two's complement, after their number."""
    size = (value if value >= 0 else ~value).bit_length() // 8 + 1
    OctetString().write(bits, value.to_bytes(size, "big", signed=True))


def read_unbounded(bits: BitReader) -> int:
    """Return a whole number without bounds."""
    return int.from_bytes(OctetString().read(bits), "big", signed=True)


def write_small(bits: BitWriter, value: int) -> None:
    """Append a number that is usually below 64."""
    if value >= 64:
        raise MessageError(f"{value} is more than 63")
    bits.write_bits(value, 7)


def read_small(bits: BitReader) -> int:
    """Return a number that is usually below 64."""
    if bits.read_bits(1):
        return int.from_bytes(OctetString().read(bits), "big")
    return bits.read_bits(6)


def skip_additions(bits: BitReader) -> None:
    """Leave out what a later version of a sequence added."""
    there = [bits.read_bits(1) for _ in range(read_small(bits) + 1)]
    for _ in range(sum(there)):
        OctetString().read(bits)
