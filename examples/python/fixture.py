"""A server whose handlers play the acts of a conformance case (docs/conformance.md):
    parlance conform schemas/fold-gateway --server-cmd "python3 examples/python/fixture.py schemas/fold-gateway"
"""

import json
import sys
import threading
from collections import Counter

from contract import Contract, Refusal
from server import Server


class Fixture:
    def __init__(self, contract):
        self.contract, self.changed = contract, threading.Condition()
        self.begin({"acts": []})

    def begin(self, line):
        self.acts, self.token, self.calls = line["acts"], line.get("token"), []

    def handlers(self):
        plain = {name: self.stream(name) if "stream" in one["answer"] else self.answer(name) for name, one in self.contract.operations.items()}
        return {**plain, **{name: self.converse(name) for name in self.contract.channels}}

    def note(self, name, values):
        """Notes a call, and returns the note and the steps to play."""
        with self.changed:
            calls, acts = self.calls, [act["steps"] for act in self.acts if act["call"] == name]
            before = sum(one["call"] == name for one in calls)
            note = {"call": name, "input": values}
            calls.append(note)
            self.changed.notify_all()
        return note, acts[min(before, len(acts) - 1)] if acts else []

    def answer(self, name):
        def handle(values, call):
            [step] = self.note(name, values)[1] or [{"refuse": {"status": 501, "text": "The acts have no answer."}}]
            if "refuse" in step:
                raise Refusal(**step["refuse"])
            return step["answer"]

        return handle

    def stream(self, name):
        def handle(values, call):
            note, steps = self.note(name, values)
            seen = Counter()
            try:
                for step in steps:
                    if "send" in step or "ask" in step:
                        yield step.get("send") or step["ask"]
                    else:
                        self.other(step, seen, call.gone)
                        if call.gone.is_set():
                            note["gone"] = True
            except GeneratorExit:
                note["gone"] = True

        return handle

    def converse(self, name):
        def handle(values, channel):
            note, steps = self.note(name, values)
            messages, answers, seen = note.setdefault("messages", []), {}, Counter()

            def settled(place):
                def settle(message):
                    answers[place] = message
                    note["answers"] = [answers[at] for at in sorted(answers)]

                return settle

            def collect():
                for message in channel:
                    with self.changed:
                        messages.append(message)
                        self.changed.notify_all()
                with self.changed:
                    self.changed.notify_all()

            threading.Thread(target=collect, daemon=True).start()
            read = 0
            for place, step in enumerate(steps):
                if "send" in step:
                    channel.send(step["send"])
                elif "ask" in step:
                    channel.ask(step["ask"], settled(place))
                elif "receive" in step:
                    with self.changed:
                        while not channel.gone.is_set() and not any(one["type"] == step["receive"] for one in messages[read:]):
                            self.changed.wait()
                        read += next((at + 1 for at, one in enumerate(messages[read:]) if one["type"] == step["receive"]), 0)
                else:
                    self.other(step, seen, channel.gone)

        return handle

    def other(self, step, seen, gone):
        if "refuse" in step:
            raise Refusal(**step["refuse"])
        if "fail" in step:
            raise RuntimeError("the handler fails here")
        if "hold" in step:
            gone.wait()
        if "call" in step:
            seen[step["call"]] += 1
            with self.changed:
                count = lambda: sum(one["call"] == step["call"] for one in self.calls)
                self.changed.wait_for(lambda: count() >= seen[step["call"]] or gone.is_set(), timeout=60)


def main():
    fixture = Fixture(Contract(sys.argv[1]))
    server = Server(fixture.contract, fixture.handlers(), lambda token: token == fixture.token)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    show = lambda line: print(json.dumps(line), flush=True)
    show({"url": server.url})
    for text in sys.stdin:
        line = json.loads(text)
        if "report" in line:
            show({"calls": fixture.calls})
        else:
            fixture.begin(line)
            show({"ready": line["case"]})


if __name__ == "__main__":
    main()
