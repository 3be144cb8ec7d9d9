"""A client of any contract, with the standard library alone: HTTP, Server-Sent Events and WebSockets.

As a program it is an adapter for the conformance suite (docs/conformance.md):
    parlance conform schemas/fold-gateway --client "python3 examples/python/client.py schemas/fold-gateway"
"""

import base64
import codecs
import http.client
import json
import os
import re
import socket
import struct
import sys
from urllib.parse import quote, urlencode, urlsplit


class Refusal(Exception):
    def __init__(self, status, code, text):
        super().__init__(text)
        self.report = {"kind": "refusal", "status": status, "code": code, "text": text}


class Violation(Exception):
    report = {"kind": "violation"}


class Disconnected(Exception):
    report = {"kind": "disconnected"}


def load(folder):
    with open(os.path.join(folder, "contract.json"), encoding="utf-8") as file:
        return json.load(file)


def pointer(value, path):
    for step in path.split("/")[1:]:
        if isinstance(value, list):
            value = value[int(step)] if step.isdigit() and int(step) < len(value) else None
        else:
            value = value.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(value, dict) else None
    return value


class Client:
    def __init__(self, contract, url, token=None):
        self.contract, self.token = contract, token
        self.host = urlsplit(url).netloc

    def bind(self, call, values):
        """A flat input as a path with its query, and a body."""
        values = {**values, **call.get("when", {})}
        parameters = call.get("parameters", {})
        path = re.sub(r"\{(\w+)\}", lambda name: quote(str(values[name[1]]), safe=""), call["path"])
        text = lambda value: {True: "true", False: "false"}.get(value, value) if isinstance(value, bool) else value
        query = {key: text(values[key]) for key, one in parameters.items() if one["in"] == "query" and key in values}
        body = {key: value for key, value in values.items() if key not in parameters}
        return path + ("?" + urlencode(query) if query else ""), body

    def headers(self):
        auth = self.contract.get("auth")
        if not auth or not self.token:
            return {}
        name = auth.get("header")
        return {name: self.token} if name else {"Authorization": "Bearer " + self.token}

    def request(self, name, values):
        operation = self.contract["operations"][name]
        target, body = self.bind(operation, values)
        headers, data = self.headers(), None
        if "body" in operation:
            headers["Content-Type"], data = "application/json", json.dumps(body).encode()
        connection = http.client.HTTPConnection(self.host)
        try:
            connection.request(operation["method"], target, data, headers)
            response = connection.getresponse()
            if response.status >= 400:
                self.refuse(operation, response.status, response.read().decode())
            return connection, response
        except (OSError, http.client.HTTPException) as error:
            raise Disconnected() from error

    def refuse(self, operation, status, text):
        fault = self.contract["fault"]
        try:
            body = json.loads(text)
        except ValueError:
            raise Refusal(status, None, text)
        first = lambda places: next((one for one in (pointer(body, place) for place in places) if isinstance(one, str)), None)
        raise Refusal(status, first(fault.get("code", [])), first(fault["text"]) or text)

    def call(self, name, values):
        operation = self.contract["operations"][name]
        connection, response = self.request(name, values)
        try:
            text = response.read().decode()
        except (OSError, http.client.HTTPException) as error:
            raise Disconnected() from error
        finally:
            connection.close()
        answer = operation["answer"]
        if "json" not in answer:
            return text if "text" in answer else None
        return parse(text)

    def stream(self, name, values):
        """The messages of a stream; Disconnected if it stops without an end."""
        stream = self.contract["operations"][name]["answer"]["stream"]
        connection, response = self.request(name, values)
        ends, may_end = stream.get("end", []), stream.get("mayEnd", [])
        over = False
        try:
            for event, data in events(response):
                if data == stream.get("sentinel"):
                    return
                message = self.read(event, parse(data), stream["messages"])
                if message is None:
                    continue
                yield message
                over = message["type"] in may_end
                if message["type"] in ends:
                    return
        except (OSError, http.client.HTTPException) as error:
            raise Disconnected() from error
        finally:
            connection.close()
        if not over:
            raise Disconnected()

    def read(self, event, body, names):
        """The message that a frame carries, flat with its name as `type`; None for an unknown one."""
        tag = self.contract["tag"]
        if not isinstance(body, dict):
            raise Violation()
        if tag["in"] == "event":
            name = event or "message"
        elif tag["in"] == "property":
            name = body.get(tag["property"], event if tag.get("event") else None)
        else:
            name = next((one for one in self.contract["messages"] if one in names and self.fits(one, body)), None)
        if name not in names:
            return None
        constants = self.contract["messages"][name].get("shape", {}).get("const", {})
        dropped = [tag["property"]] if tag["in"] == "property" else constants
        return {"type": name, **{key: value for key, value in body.items() if key not in dropped and key != "type"}}

    def fits(self, name, body):
        shape = self.contract["messages"][name].get("shape", {})
        return (
            all(body.get(key) == value for key, value in shape.get("const", {}).items())
            and all(key in body for key in shape.get("required", []))
            and not any(key in body for key in shape.get("forbidden", []))
        )

    def write(self, message):
        message = dict(message)
        name, tag = message.pop("type"), self.contract["tag"]
        named = {tag["property"]: name} if tag["in"] == "property" else self.contract["messages"][name].get("shape", {}).get("const", {})
        return json.dumps({**named, **message})

    def channel(self, name, values):
        target, _ = self.bind(self.contract["channels"][name], values)
        return WebSocket(self.host, target, self.headers())


def parse(text):
    try:
        return json.loads(text)
    except ValueError as error:
        raise Violation() from error


def events(response):
    """The events of an event stream (WHATWG HTML, section 9.2.6), as they come."""
    decoder, held, name, data, first, after_cr = codecs.getincrementaldecoder("utf-8")("replace"), "", "", [], True, False
    while True:
        chunk = response.read1(65536)
        if not chunk:
            if not response.isclosed() and response.length:
                raise http.client.IncompleteRead(b"")
            return
        text = decoder.decode(chunk)
        if first and text:
            text, first = text.removeprefix("\ufeff"), False
        if after_cr and text.startswith("\n"):
            text = text[1:]
        after_cr = text.endswith("\r") if text else after_cr
        held += text
        lines = re.split("\r\n|\r|\n", held)
        held = lines.pop()
        for line in lines:
            if line == "":
                if data:
                    yield name or None, "\n".join(data)
                name, data = "", []
                continue
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if field == "data":
                data.append(value)
            elif field == "event":
                name = value


class WebSocket:
    """A WebSocket (RFC 6455)."""

    def __init__(self, host, target, headers):
        name, port = host.rsplit(":", 1)
        key = base64.b64encode(os.urandom(16)).decode()
        lines = {"Host": host, "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key, **headers}
        try:
            self.socket = socket.create_connection((name, int(port)))
            head = "".join(f"{one}: {value}\r\n" for one, value in lines.items())
            self.socket.sendall(f"GET {target} HTTP/1.1\r\n{head}\r\n".encode())
            self.file = self.socket.makefile("rb")
            status = int(self.file.readline().split()[1])
            while self.file.readline() not in (b"\r\n", b""):
                pass
        except (OSError, IndexError) as error:
            raise Disconnected() from error
        if status != 101:
            raise Refusal(status, None, self.file.read().decode())
        self.closed = False

    def frame(self, opcode, payload):
        size = len(payload)
        head = bytes([0x80 | opcode])
        head += bytes([0x80 | size]) if size < 126 else struct.pack("!BH", 0xFE, size) if size < 65536 else struct.pack("!BQ", 0xFF, size)
        mask = os.urandom(4)
        self.socket.sendall(head + mask + bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload)))

    def send(self, text):
        self.frame(1, text.encode())

    def close(self):
        self.closed = True
        self.frame(8, struct.pack("!H", 1000))

    def exactly(self, size):
        data = self.file.read(size)
        if len(data) < size:
            raise Disconnected()
        return data

    def texts(self):
        """The texts of the server, until it closes; Disconnected where it does not say 1000."""
        whole = b""
        try:
            while True:
                first, second = self.exactly(2)
                size = second & 127
                if size > 125:
                    size = struct.unpack("!H" if size == 126 else "!Q", self.exactly(2 if size == 126 else 8))[0]
                payload, opcode = self.exactly(size), first & 15
                if opcode == 9:
                    self.frame(10, payload)
                elif opcode == 8:
                    code = struct.unpack("!H", payload[:2])[0] if payload else 1005
                    if not self.closed:
                        self.frame(8, payload[:2])
                    if code != 1000 and not self.closed:
                        raise Disconnected()
                    return
                elif opcode in (0, 1):
                    whole += payload
                    if first & 128:
                        yield whole.decode()
                        whole = b""
        except OSError as error:
            raise Disconnected() from error
        finally:
            self.socket.close()


def follow(client, line, messages):
    """Does what the script of a case says."""
    name, script = line["operation"], list(line["script"])
    operation = client.contract["operations"].get(name)
    if operation and "stream" not in operation["answer"]:
        return messages.append(client.call(name, line["input"]))
    if operation:
        source, sock = client.stream(name, line["input"]), None
    else:
        sock = client.channel(name, line["input"])
        names = client.contract["channels"][name]["server"]
        found = (client.read(None, parse(text), names) for text in sock.texts())
        source = (message for message in found if message is not None)
    for step in script:
        if "receive" in step:
            for _ in range(step["receive"]):
                messages.append(next(source))
        elif "send" in step:
            sock.send(client.write(step["send"]))
        elif "ask" in step:
            sock.send(client.write(step["ask"]))
        elif "call" in step:
            try:
                client.call(step["call"], step["input"])
            except (Refusal, Violation, Disconnected):
                pass  # It has a case of its own.
        elif "close" in step:
            if not sock:
                return source.close()
            sock.close()
    messages.extend(source)


def main():
    contract = load(sys.argv[1])
    for text in sys.stdin:
        line, messages, error = json.loads(text), [], None
        try:
            follow(Client(contract, line["url"], line.get("token")), line, messages)
        except (Refusal, Violation, Disconnected) as raised:
            error = raised.report
        except StopIteration:
            error = Disconnected.report
        print(json.dumps({"messages": messages, "error": error}), flush=True)


if __name__ == "__main__":
    main()
