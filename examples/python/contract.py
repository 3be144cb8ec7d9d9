"""A contract's folder: how requests and messages are written and read."""

import json
import os
import re
from urllib.parse import quote, urlencode

from schema import Schemas


class Refusal(Exception):
    """The peer says no, or is told no."""

    def __init__(self, status, text, code=None, details=None, recoverable=None):
        super().__init__(text)
        self.status, self.text, self.code, self.details, self.recoverable = status, text, code, details, recoverable


class Violation(Exception):
    """A message or body breaks the contract."""


class Disconnected(Exception):
    """No answer, or no end."""


def parse(text):
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Violation("not JSON") from error


def at(value, pointer):
    """What a JSON Pointer points to; None if it is not there."""
    for step in pointer.split("/")[1:]:
        if isinstance(value, list):
            value = value[int(step)] if step.isdigit() and int(step) < len(value) else None
        else:
            value = value.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(value, dict) else None
    return value


def put(body, pointer, value):
    *steps, last = pointer.split("/")[1:]
    for step in steps:
        body = body.setdefault(step, {})
    body[last] = value


class Contract:
    def __init__(self, folder):
        with open(os.path.join(folder, "contract.json"), encoding="utf-8") as file:
            self.source = json.load(file)
        self.schemas = Schemas(folder)
        self.operations, self.channels = self.source.get("operations", {}), self.source.get("channels", {})
        self.messages, self.tag, self.auth = self.source["messages"], self.source["tag"], self.source.get("auth")
        self.exchanges, self.fault = self.source.get("exchanges", []), self.source["fault"]

    def check(self, path, value):
        if not self.schemas.fits(path, value):
            raise Violation(f"the value does not fit {path}")
        return value

    def bind(self, call, values):
        """A flat input as a path with its query, and a body."""
        values, parameters = {**values, **call.get("when", {})}, call.get("parameters", {})
        path = re.sub(r"\{(\w+)\}", lambda name: quote(str(values[name[1]]), safe=""), call["path"])
        text = lambda value: str(value).lower() if isinstance(value, bool) else value
        query = {key: text(values[key]) for key, one in parameters.items() if one["in"] == "query" and key in values}
        body = {key: value for key, value in values.items() if key not in parameters}
        return path + ("?" + urlencode(query) if query else ""), body

    def read(self, event, body, names):
        """The message that a frame carries, flat with its name as `type`; None for an unknown one."""
        if not isinstance(body, dict):
            raise Violation("a message is an object")
        if self.tag["in"] == "event":
            name = event or "message"
        elif self.tag["in"] == "property":
            name = (self.tag.get("event") and event) or body.get(self.tag["property"])
        else:
            name = next((one for one in self.messages if one in names and self.has_shape(one, body)), None)
        if name not in names:
            return None
        self.check(self.messages[name]["schema"], body)
        dropped = self.named(name)
        return {"type": name, **{key: value for key, value in body.items() if key not in dropped and key != "type"}}

    def write(self, message):
        """The body of a message."""
        fields = {key: value for key, value in message.items() if key != "type"}
        return {**self.named(message["type"]), **fields}

    def named(self, name):
        """The properties of a body that name its message."""
        if self.tag["in"] == "property":
            return {self.tag["property"]: name}
        return self.messages[name].get("shape", {}).get("const", {})

    def has_shape(self, name, body):
        shape = self.messages[name].get("shape", {})
        return (
            all(body.get(key) == value for key, value in shape.get("const", {}).items())
            and all(key in body for key in shape.get("required", []))
            and not any(key in body for key in shape.get("forbidden", []))
        )

    def block(self, message):
        """A message as an event of an event stream."""
        has_event = self.tag["in"] == "event" or self.tag.get("event")
        event = f"event: {message['type']}\n" if has_event else ""
        return f"{event}data: {json.dumps(self.write(message))}\n\n"

    def refuse(self, operation, refusal):
        """The type and body of a refusal."""
        if (operation or {}).get("faults", {}).get(str(refusal.status), {}).get("text"):
            return "text/plain", refusal.text
        of = next((one for one in self.messages.values() if one["schema"] == self.fault["schema"]), {})
        body = dict(of.get("shape", {}).get("const", {}))
        return "application/json", json.dumps(self.place(body, self.fault, refusal))

    def failure(self, name, refusal):
        """The message that reports a refusal on a stream or channel."""
        return self.place({"type": name}, self.messages[name]["fault"], refusal)

    def place(self, body, places, refusal):
        codes = self.fault.get("codes", {})
        generic = lambda status: next((key for key, one in codes.items() if one.get("generic") and one.get("status") == status), None)
        code = refusal.code or generic(refusal.status) or generic(400 if refusal.status < 500 else 500)
        put(body, places["text"][0], refusal.text)
        if "code" in places:
            put(body, places["code"][0], code)
        if "details" in places and refusal.details is not None:
            put(body, places["details"][0], refusal.details)
        if "recoverable" in places:
            known = codes.get(code, {}).get("recoverable", False)
            put(body, places["recoverable"][0], known if refusal.recoverable is None else refusal.recoverable)
        return body

    def refused(self, status, text):
        """The refusal that an answer reports."""
        try:
            body = json.loads(text)
        except ValueError:
            return Refusal(status, text)
        first = lambda places: next((one for one in (at(body, place) for place in places) if isinstance(one, str)), None)
        return Refusal(status, first(self.fault["text"]) or text, first(self.fault.get("code", [])))
