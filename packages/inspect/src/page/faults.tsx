import { useState } from "preact/hooks";
import { post } from "./api.js";
import type { Call } from "./calls.js";

const names: Readonly<Record<string, string>> = {
  cut: "Cut",
  stall: "Stall",
  slow: "Slow",
  release: "Release",
  duplicate: "Duplicate next",
  malformed: "Spoil next",
};

/** Disturbs one open connection. */
export function Faults({ call }: { readonly call: Call }) {
  const [from, setFrom] = useState("server");
  const [problem, setProblem] = useState("");
  if (call.state !== "open") return null;
  const disturb = (fault: string) =>
    post("/api/fault", { connection: call.c, fault, from }).then(
      () => setProblem(""),
      ({ message }) => setProblem(message),
    );
  return (
    <section class="faults" aria-label={`Faults of connection ${call.c}`}>
      <label>
        Connection {call.c}, what the{" "}
        <select value={from} onChange={(event) => setFrom(event.currentTarget.value)}>
          <option>server</option>
          <option>client</option>
        </select>{" "}
        sends:
      </label>
      <span class="buttons">
        {Object.entries(names).map(([fault, name]) => (
          <button key={fault} type="button" onClick={() => disturb(fault)}>
            {name}
          </button>
        ))}
      </span>
      {problem && <span class="problem">{problem}</span>}
    </section>
  );
}
