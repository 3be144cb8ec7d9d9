"""What the fold-gateway document's Python sample does, in our own words. Prints one JSON line an event."""

import json
import sys

import requests

base = sys.argv[1]
agents = requests.get(base + "/api/agents", timeout=10).json()
answer = requests.post(
    base + "/api/send",
    json={"content": sys.argv[2], "sender": "python", "agent_id": agents[0]["id"]},
    stream=True,
    timeout=10,
)
name = None
for line in answer.iter_lines(decode_unicode=True):
    if line.startswith("event: "):
        name = line[len("event: ") :]
    elif name and line.startswith("data: "):
        print(json.dumps([name, json.loads(line[len("data: ") :])]), flush=True)
        name = None
