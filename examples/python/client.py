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
import sys
from urllib.parse import urlsplit

from contract import Contract, Disconnected, Refusal, Violation, parse
from frames import TEXT, Broken, Frames


class Client:
    def __init__(self, contract, url, token=None):
        self.contract, self.token = contract, token
        self.host = urlsplit(url).netloc

    def headers(self):
        auth = self.contract.auth
        if not auth or not self.token:
            return {}
        name = auth.get("header")
        return {name: self.token} if name else {"Authorization": "Bearer " + self.token}

    def request(self, name, values):
        operation = self.contract.operations[name]
        target, body = self.contract.bind(operation, values)
        headers, data = self.headers(), None
        if "body" in operation:
            headers["Content-Type"], data = "application/json", json.dumps(body).encode()
        connection = http.client.HTTPConnection(self.host)
        try:
            connection.request(operation["method"], target, data, headers)
            response = connection.getresponse()
            if response.status >= 400:
                raise self.contract.refused(response.status, response.read().decode())
            return connection, response
        except (OSError, http.client.HTTPException) as error:
            raise Disconnected() from error

    def call(self, name, values):
        answer = self.contract.operations[name]["answer"]
        connection, response = self.request(name, values)
        try:
            text = response.read().decode()
        except (OSError, http.client.HTTPException) as error:
            raise Disconnected() from error
        finally:
            connection.close()
        if "json" not in answer:
            return text if "text" in answer else None
        return self.contract.check(answer["json"], parse(text))

    def stream(self, name, values):
        """The messages of a stream; Disconnected if it stops without an end."""
        stream = self.contract.operations[name]["answer"]["stream"]
        connection, response = self.request(name, values)
        ends, may_end = stream.get("end", []), stream.get("mayEnd", [])
        over = False
        if response.headers.get_content_type() != "text/event-stream":
            connection.close()
            raise Violation("The answer is no stream.")
        try:
            for event, data in events(response):
                if data == stream.get("sentinel"):
                    return
                message = self.contract.read(event, parse(data), stream["messages"])
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

    def channel(self, name, values):
        target, _ = self.contract.bind(self.contract.channels[name], values)
        return Channel(self.contract, self.contract.channels[name], connect(self.host, target, self.headers()))


class Channel:
    def __init__(self, contract, channel, frames):
        self.contract, self.names, self.frames = contract, channel["server"], frames
        self.closed = False

    def send(self, message):
        self.frames.send(TEXT, json.dumps(self.contract.write(message)).encode())

    def close(self):
        self.closed = True
        self.frames.close()

    def messages(self):
        """The messages of the server, until it closes; Disconnected unless it closes with 1000."""
        try:
            while isinstance(came := self.frames.next(), str):
                message = self.contract.read(None, parse(came), self.names)
                if message is not None:
                    yield message
            if not self.closed:
                self.frames.close()
            if came != 1000 and not self.closed:
                raise Disconnected()
        except (OSError, Broken) as error:
            raise Disconnected() from error
        finally:
            self.frames.socket.close()


def connect(host, target, headers):
    """The handshake of a WebSocket."""
    name, port = host.rsplit(":", 1)
    key = base64.b64encode(os.urandom(16)).decode()
    lines = {"Host": host, "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key, **headers}
    try:
        sock = socket.create_connection((name, int(port)))
        head = "".join(f"{one}: {value}\r\n" for one, value in lines.items())
        sock.sendall(f"GET {target} HTTP/1.1\r\n{head}\r\n".encode())
        file = sock.makefile("rb")
        status = int(file.readline().split()[1])
        while file.readline() not in (b"\r\n", b""):
            pass
    except (OSError, IndexError) as error:
        raise Disconnected() from error
    if status != 101:
        raise Refusal(status, file.read().decode())
    return Frames(sock, file, is_client=True)


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


def follow(client, line, messages):
    """Does the steps of a case."""
    name, steps, opened = line["operation"], list(line["steps"]), None
    operation = client.contract.operations.get(name)
    if operation and "stream" not in operation["answer"]:
        return messages.append(client.call(name, line["input"]))
    if operation:
        source = client.stream(name, line["input"])
    else:
        opened = client.channel(name, line["input"])
        source = opened.messages()
    for step in steps:
        if "receive" in step:
            for _ in range(step["receive"]):
                messages.append(next(source))
        elif "send" in step or "ask" in step:
            opened.send(step.get("send") or step["ask"])
        elif "call" in step:
            try:
                client.call(step["call"], step["input"])
            except (Refusal, Violation, Disconnected):
                pass  # It has a case of its own.
        elif "close" in step:
            if not opened:
                return source.close()
            opened.close()
    messages.extend(source)


def report(error):
    if isinstance(error, Refusal):
        return {"kind": "refusal", "status": error.status, "code": error.code, "text": error.text}
    return {"kind": "violation" if isinstance(error, Violation) else "disconnected"}


def main():
    contract = Contract(sys.argv[1])
    for text in sys.stdin:
        line, messages, error = json.loads(text), [], None
        try:
            follow(Client(contract, line["url"], line.get("token")), line, messages)
        except (Refusal, Violation, Disconnected, StopIteration) as raised:
            error = report(raised)
        print(json.dumps({"messages": messages, "error": error}), flush=True)


if __name__ == "__main__":
    main()
