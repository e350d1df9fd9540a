"""Bits of a message: written one after the other, and read again."""

from __future__ import annotations

from harness.channel.messages.errors import MessageError


class BitWriter:
    """Bits, growing at the end."""

    def __init__(self) -> None:
        self._value = 0
        self.length = 0  # bits

    def write_bits(self, value: int, width: int) -> None:
        """Append a number of so many bits, the highest first."""
        self._value = self._value << width | value
        self.length += width

    def write_octets(self, octets: bytes) -> None:
        """Append bytes, at whatever bit the next one begins."""
        self.write_bits(int.from_bytes(octets, "big"), 8 * len(octets))

    def to_octets(self) -> bytes:
        """Return all bits as bytes; zeros fill the last one, and there is at least one."""
        size = max(1, (self.length + 7) // 8)
        return (self._value << (8 * size - self.length)).to_bytes(size, "big")


class BitReader:
    """Bits of a message, read from the front."""

    def __init__(self, octets: bytes) -> None:
        self._value = int.from_bytes(octets, "big")
        self.left = 8 * len(octets)  # bits

    def read_bits(self, width: int) -> int:
        """Return the number in the next bits."""
        if width > self.left:
            raise MessageError(f"the message ends {width - self.left} bits too early")
        self.left -= width
        return (self._value >> self.left) & ((1 << width) - 1)

    def read_octets(self, size: int) -> bytes:
        """Return the next bytes."""
        return self.read_bits(8 * size).to_bytes(size, "big")
