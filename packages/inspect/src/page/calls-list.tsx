import { type Call, milliseconds } from "./calls.js";
import { isRefusal } from "./filter.js";
import { visibleLine } from "./inert.js";
import type { LogView } from "./store.js";
import { Virtual } from "./virtual.js";

const HEIGHT = 58;

interface CallsProps {
  readonly view: LogView;
  readonly chosen: number | undefined;
  readonly choose: (c: number | undefined) => void;
}

/** Every connection with its figures; the newest last. */
export function Calls({ view, chosen, choose }: CallsProps) {
  const calls = [...view.calls.values()];
  return (
    <Virtual
      id="calls"
      label="Calls, streams and channels"
      count={calls.length}
      height={HEIGHT}
      chosen={calls.findIndex(({ c }) => c === chosen)}
      follow
      choose={(at) => choose(calls[at]!.c === chosen ? undefined : calls[at]!.c)}
      row={(at) => <Line call={calls[at]!} />}
      empty="No call yet."
    />
  );
}

function Line({ call }: { readonly call: Call }) {
  const { c, name, state, status, latency, first, messages, gap, beats, flaws, socket, resumes } = call;
  const figures = [
    latency !== undefined && `answer ${milliseconds(latency)}`,
    first !== undefined && `first ${milliseconds(first)}`,
    messages > 0 && `${messages} messages`,
    gap >= 1000 && `gap ${milliseconds(gap)}`,
    beats > 0 && `${beats} heartbeats`,
  ].filter(Boolean);
  return (
    <div class={`call ${state}`}>
      <div class="head">
        <span class={`connection connection${c % 8}`}>{c}</span>
        <span class="name">{visibleLine(name)}</span>
        {resumes && <span class="mark">resumes</span>}
        {flaws > 0 && <span class="mark flaw">{flaws} wrong</span>}
        <span class={`state ${isRefusal(call) ? "refusal" : state}`}>
          {status ?? (socket ? "socket" : "")} {state}
        </span>
      </div>
      <Strip call={call} />
      <div class="figures">{figures.join(" · ")}</div>
    </div>
  );
}

/** The call's messages over its time: a mark each, holes for its gaps, a bar where it was cut. */
function Strip({ call: { start, last, marks, state } }: { readonly call: Call }) {
  const span = Math.max(last - start, 1);
  return (
    <svg class={`strip ${state}`} viewBox="0 0 200 6" preserveAspectRatio="none" aria-hidden="true">
      <rect class="track" x="0" y="2.5" width="200" height="1" />
      {marks.map((t, at) => (
        <rect key={at} class="message" x={(((t - start) / span) * 198).toFixed(1)} y="0" width="1.5" height="6" />
      ))}
      {state === "cut" && <rect class="end" x="197" y="0" width="3" height="6" />}
    </svg>
  );
}
