"""The frames of WebSockets (RFC 6455), for either side."""

import base64
import hashlib
import os
import struct
import threading

CONTINUED, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10


def accept_of(key):
    return base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()


class Broken(Exception):
    """A frame that is refused with a close code."""

    def __init__(self, code):
        super().__init__(code)
        self.code = code


def encode(opcode, payload, masked):
    size, bit = len(payload), 0x80 if masked else 0
    length = bytes([bit | size]) if size < 126 else struct.pack("!BH", bit | 126, size) if size < 65536 else struct.pack("!BQ", bit | 127, size)
    head = bytes([0x80 | opcode]) + length
    if not masked:
        return head + payload
    mask = os.urandom(4)
    return head + mask + bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))


class Frames:
    """One end of an open WebSocket."""

    def __init__(self, sock, file, is_client, limit=1 << 20):
        self.socket, self.file, self.is_client, self.limit = sock, file, is_client, limit
        self.lock = threading.Lock()

    def send(self, opcode, payload):
        with self.lock:
            self.socket.sendall(encode(opcode, payload, self.is_client))

    def close(self, code=1000):
        self.send(CLOSE, struct.pack("!H", code))

    def exactly(self, size):
        data = self.file.read(size)
        if len(data) < size:
            raise OSError("the connection is lost")
        return data

    def frame(self):
        first, second = self.exactly(2)
        if (second > 127) == self.is_client:
            raise Broken(1002)
        size = second & 127
        if size > 125:
            [size] = struct.unpack("!H" if size == 126 else "!Q", self.exactly(2 if size == 126 else 8))
        if size > self.limit:
            raise Broken(1009)
        mask = bytes(4) if self.is_client else self.exactly(4)
        return first > 127, first & 15, bytes(byte ^ mask[at % 4] for at, byte in enumerate(self.exactly(size)))

    def next(self):
        """The next text of the peer, or the code of its close. Pings are answered. Throws OSError for a lost connection."""
        whole = b""
        while True:
            last, opcode, payload = self.frame()
            if opcode == CLOSE:
                return struct.unpack("!H", payload[:2])[0] if payload else 1005
            if opcode == PING:
                self.send(PONG, payload)
            if opcode == BINARY:
                raise Broken(1003)
            if opcode not in (CONTINUED, TEXT):
                continue
            whole += payload
            if len(whole) > self.limit:
                raise Broken(1009)
            if last:
                try:
                    return whole.decode()
                except UnicodeDecodeError as error:
                    raise Broken(1007) from error
