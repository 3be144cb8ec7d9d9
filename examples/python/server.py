"""A server of any contract, with the standard library alone: HTTP, Server-Sent Events and WebSockets.

`handlers` has a function for each operation and channel:
    def list_agents(input, call): return [...]            # or raise Refusal(404, "…")
    def send(input, call): yield {"type": "text", …}      # a stream; call.gone is set once its caller has left
    def session(input, channel): channel.send(…); for message in channel: …
"""

import json
import re
import select
import threading
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, unquote, urlsplit

from channel import Channel
from contract import Refusal, Violation, parse
from frames import Frames, accept_of

LARGEST = 1 << 20
LOCAL = ("localhost", "127.0.0.1", "::1")


class Call:
    def __init__(self):
        self.gone = threading.Event()


class Server(ThreadingHTTPServer):
    """Serves a contract on the loopback interface. `lets_in` is asked about a token, where the contract has tokens."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, contract, handlers, lets_in=lambda token: True, port=0):
        super().__init__(("127.0.0.1", port), Request)
        self.contract, self.handlers, self.lets_in = contract, handlers, lets_in
        self.url = f"http://127.0.0.1:{self.server_port}"
        calls = [*contract.operations.items(), *contract.channels.items()]
        # A fixed path before one with parameters.
        self.routes = sorted(
            ((name, path_pattern(path), call) for name, call in calls for path in [call["path"], *call.get("alsoAt", [])]),
            key=lambda route: route[2]["path"].count("{"),
        )

    def handle_error(self, request, client_address):
        pass  # A connection that is lost.


def path_pattern(path):
    return re.compile("".join(f"(?P<{part[1:-1]}>[^/]+)" if part.startswith("{") else re.escape(part) for part in re.split(r"(\{\w+\})", path)))


class Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def __getattr__(self, name):
        if name.startswith("do_"):
            return self.answer
        raise AttributeError(name)

    def log_message(self, *_):
        pass

    def answer(self):
        self.close_connection = True
        self.contract, call = self.server.contract, None
        try:
            self.check_caller()
            name, call, values = self.route()
            if name in self.contract.channels:
                return self.converse(name, call, values)
            handler = self.server.handlers[name]
            if "stream" in call["answer"]:
                return self.stream(call, handler, values)
            answer = call["answer"]
            value = handler(values, Call())
            body = json.dumps(value) if "json" in answer else value or ""
            self.respond(answer["status"], "application/json" if "json" in answer else answer.get("text"), body)
        except Refusal as refusal:
            self.refuse(call, refusal)
        except Violation as violation:
            self.refuse(call, Refusal(400, f"The request breaks the contract: {violation}."))
        except OSError:
            pass  # The caller has gone.
        except Exception:
            traceback.print_exc()
            self.refuse(call, Refusal(500, "The server failed."))

    def respond(self, status, media_type, body):
        data = body.encode()
        self.send_response(status)
        if media_type:
            self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)

    def refuse(self, call, refusal):
        self.respond(refusal.status, *self.contract.refuse(call, refusal))

    def check_caller(self):
        """A page that a user visits must not reach a local server."""
        hosts = [urlsplit("//" + self.headers.get("Host", "")).hostname]
        if "Origin" in self.headers:
            hosts.append(urlsplit(self.headers["Origin"]).hostname)
        if any(host not in LOCAL for host in hosts):
            raise Refusal(403, "This server is for this machine alone.")

    def check_token(self):
        auth = self.contract.auth
        if auth and not self.server.lets_in(self.headers.get(auth.get("header", "Authorization"), "").removeprefix("Bearer ")):
            raise Refusal(401, "The token is missing or wrong.")

    def route(self):
        """The operation or channel of the request, and its input."""
        url = urlsplit(self.path)
        found = [(name, match, call) for name, pattern, call in self.server.routes if (match := pattern.fullmatch(url.path))]
        if not found:
            raise Refusal(404, f"There is no {url.path}.")
        # `/workspaces/register` is not the workspace of this name.
        fewest = found[0][2]["path"].count("{")
        found = [one for one in found if one[2]["path"].count("{") == fewest and one[2].get("method", "GET") == self.command]
        if not found:
            raise Refusal(405, f"{url.path} has other methods.")
        self.check_token()
        body = self.read_body() if any("body" in call for _, _, call in found) else {}
        query = dict(parse_qsl(url.query, keep_blank_values=True))
        for name, match, call in found:
            when, defaults = call.get("when", {}), {key: one["default"] for key, one in call.get("parameters", {}).items() if "default" in one}
            if all({**defaults, **query, **body}.get(key) == value for key, value in when.items()):
                break
        else:
            raise Violation("no operation has such an input")
        if "body" in call:
            self.contract.check(call["body"], body)
        path = {key: unquote(value) for key, value in match.groupdict().items()}
        values = {}
        for key, parameter in call.get("parameters", {}).items():
            text = (path if parameter["in"] == "path" else query).get(key)
            if text is None and parameter.get("required"):
                raise Violation(f"{key} is missing")
            if text is not None and key not in when:
                values[key] = self.parameter(parameter, text)
        return name, call, {**values, **{key: value for key, value in body.items() if key not in when}}

    def parameter(self, schema, text):
        value = text
        if schema["type"] != "string":
            value = parse(text)
        rules = {key: rule for key, rule in schema.items() if key not in ("in", "required")}
        if not self.contract.schemas.holds(rules, value, "contract.json"):
            raise Violation(f"a parameter is {text!r}")
        return value

    def read_body(self):
        if self.headers.get_content_type() != "application/json" or "Content-Type" not in self.headers:
            raise Refusal(415, "The body is application/json.")
        if "Content-Length" not in self.headers:
            raise Refusal(411, "The body has a Content-Length.")
        size = int(self.headers["Content-Length"])
        if size > LARGEST:
            raise Refusal(413, f"The body is over {LARGEST} bytes.")
        try:
            body = parse(self.rfile.read(size).decode())
        except UnicodeDecodeError as error:
            raise Violation("not UTF-8") from error
        if not isinstance(body, dict):
            raise Violation("the body is an object")
        return body

    def stream(self, operation, handler, values):
        stream, call, begun = operation["answer"]["stream"], Call(), False
        messages = handler(values, call)
        watch = threading.Thread(target=self.watch, args=(call,), daemon=True)
        try:
            # The headers wait for the first message: until then the handler may refuse.
            message = next(messages, None)
            watch.start()
            self.send_response(operation["answer"]["status"])
            for name, value in {"Content-Type": "text/event-stream", "Cache-Control": "no-store", "Transfer-Encoding": "chunked"}.items():
                self.send_header(name, value)
            self.end_headers()
            begun = True
            while message is not None:
                self.chunk(self.contract.block(message))
                if message["type"] in stream.get("end", []):
                    break
                message = next(messages, None)
        except OSError:
            return
        except Exception as error:
            if not begun or "fault" not in stream:
                raise
            refusal = error if isinstance(error, Refusal) else Refusal(500, "The server failed.")
            self.chunk(self.contract.block(self.contract.failure(stream["fault"], refusal)))
        finally:
            call.gone.set()
        if "sentinel" in stream:
            self.chunk(f"data: {stream['sentinel']}\n\n")
        self.chunk("")

    def chunk(self, text):
        data = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def watch(self, call):
        """Notices a caller that leaves."""
        try:
            while not call.gone.is_set():
                if select.select([self.connection], [], [], 0.05)[0]:
                    call.gone.set()
        except (OSError, ValueError):
            pass  # The stream is over, and its connection closed.

    def converse(self, name, call, values):
        if self.headers.get("Upgrade", "").lower() != "websocket":
            raise Refusal(426, "This path is a WebSocket's.")
        self.send_response(101)
        for key, value in {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Accept": accept_of(self.headers["Sec-WebSocket-Key"])}.items():
            self.send_header(key, value)
        self.end_headers()
        channel = Channel(self.contract, call, Frames(self.connection, self.rfile, is_client=False, limit=LARGEST))
        threading.Thread(target=channel.handle, args=(self.server.handlers[name], values), daemon=True).start()
        channel.read()
