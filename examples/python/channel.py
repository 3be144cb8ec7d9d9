"""One end of a WebSocket of a server: the opening, what is refused, and what answers what."""

import json
import queue
import threading

from contract import Refusal, Violation, parse
from frames import TEXT, Broken


class Channel:
    """A WebSocket as its handler sees it: `send`, `ask`, and the messages of the client."""

    def __init__(self, contract, channel, frames):
        self.contract, self.channel, self.frames = contract, channel, frames
        self.gone, self.inbox, self.lock = threading.Event(), queue.Queue(), threading.Lock()
        self.first = channel.get("open", {}).get("client")
        #: Asks of this side with what takes the answer, and asks of the client that exclude others.
        self.asked, self.busy = [], []

    def __iter__(self):
        return iter(self.inbox.get, None)

    def send(self, message):
        answered = next((one for one in self.busy if self.answers(one, message)), None)
        if answered:
            self.busy.remove(answered)
        self.frames.send(TEXT, json.dumps(self.contract.write(message)).encode())

    def answers(self, ask, message):
        return any(
            way.get("message") == message["type"] and ("echo" not in way or message.get(way["echo"]) == ask["type"])
            for exchange in self.contract.exchanges
            if exchange["ask"] == ask["type"]
            for way in exchange["answers"]
        )

    def ask(self, message, settle):
        """Sends a message and calls `settle` with its answer, which has the same key."""
        exchange = next(one for one in self.contract.exchanges if one["by"] == "server" and one["ask"] == message["type"])
        with self.lock:
            self.asked.append((exchange, message, settle))
        self.send(message)

    def handle(self, handler, values):
        code = 1000
        try:
            handler(values, self)
        except OSError:
            return
        except Exception:
            code = 1011
        try:
            self.frames.close(code)
        except OSError:
            pass  # The client was faster.

    def read(self):
        try:
            while isinstance(text := self.frames.next(), str):
                self.take(text)
            if not self.gone.is_set():
                self.frames.close()
        except Broken as broken:
            self.frames.close(broken.code)
        except OSError:
            pass  # The connection is lost.
        finally:
            self.gone.set()
            self.inbox.put(None)

    def take(self, text):
        try:
            message = self.contract.read(None, parse(text), self.channel["client"])
        except Violation as violation:
            return self.fail(f"The message breaks the contract: {violation}.")
        if message is None:
            return self.fail("The message is unknown.", fatal=False)
        if self.first not in (None, message["type"]):
            raise Broken(1008)
        self.first = None
        if not self.settle(message) and not self.refuse(message):
            self.inbox.put(message)

    def fail(self, text, fatal=True):
        if "fault" in self.channel:
            failure = self.contract.failure(self.channel["fault"], Refusal(400, text))
            self.frames.send(TEXT, json.dumps(self.contract.write(failure)).encode())
        elif fatal:
            raise Broken(1008)

    def settle(self, message):
        """Whether a message answers an ask of this side. A partial answer leaves it open, and is the handler's."""
        with self.lock:
            for at, (exchange, ask, settle) in enumerate(self.asked):
                for way in exchange["answers"]:
                    if way.get("message") == message["type"] and message.get(way.get("key", exchange["key"])) == ask[exchange["key"]]:
                        if any(message.get(key) in values for key, values in way.get("partial", {}).items()):
                            return False
                        del self.asked[at]
                        settle(message)
                        return True
        return False

    def refuse(self, message):
        """Whether a message asks while another ask excludes it. Then it is refused."""
        exchanges = [one for one in self.contract.exchanges if one["by"] == "client" and "busy" in one]
        exchange = next((one for one in exchanges if one["ask"] == message["type"]), None)
        if not exchange:
            return False
        rivals = [one["ask"] for one in exchanges if one["busy"] == exchange["busy"]]
        if not any(one["type"] in rivals for one in self.busy):
            self.busy.append(message)
            return False
        refusal = self.contract.failure(exchange["busy"], Refusal(409, "Another operation is in progress."))
        self.frames.send(TEXT, json.dumps(self.contract.write(refusal)).encode())
        return True
