// What the documents' browser samples do, in our own words; run inside a page of the server's own origin.

/** fold-gateway: a POST whose answer is read line by line; a name line, then its data line. */
globalThis.foldGatewayLoop = async (content) => {
  const agents = await (await fetch("/api/agents")).json();
  const answer = await fetch("/api/send", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ content, sender: "page", agent_id: agents[0].id }),
  });
  const heard = [];
  let name;
  for await (const line of lines(answer)) {
    if (line.startsWith("event: ")) name = line.slice("event: ".length);
    else if (name && line.startsWith("data: ")) {
      heard.push([name, JSON.parse(line.slice("data: ".length))]);
      name = undefined;
    }
  }
  return heard;
};

/** agentsmithy: told apart by what is in the data, in the order of the document's sample. */
globalThis.agentsmithyLoop = async (content) => {
  const answer = await fetch("/api/chat", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ messages: [{ role: "user", content }], stream: true }),
  });
  const heard = [];
  for await (const line of lines(answer)) {
    if (!line.startsWith("data: ")) continue;
    const data = JSON.parse(line.slice("data: ".length));
    if (data.type === "diff") heard.push("diff");
    else if (data.content) heard.push(`content ${data.content}`);
    else if (data.done) heard.push("done");
    else if (data.error) heard.push("error");
  }
  return heard;
};

async function* lines(answer) {
  const reader = answer.body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const split = (rest + decoder.decode(read.value, { stream: true })).split("\n");
    rest = split.pop();
    yield* split;
  }
}
