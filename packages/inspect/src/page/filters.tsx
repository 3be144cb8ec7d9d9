import { everything, type Filter } from "./filter.js";

interface FiltersProps {
  readonly filter: Filter;
  readonly shown: number;
  readonly all: number;
  readonly set: (filter: Filter) => void;
}

export function Filters({ filter, shown, all, set }: FiltersProps) {
  return (
    <search class="filters">
      <label>
        Type <input value={filter.type} onInput={(event) => set({ ...filter, type: event.currentTarget.value })} />
      </label>
      <label>
        Text{" "}
        <input
          dir="auto"
          value={filter.text}
          onInput={(event) => set({ ...filter, text: event.currentTarget.value })}
        />
      </label>
      <label>
        <input
          type="checkbox"
          checked={filter.flawed}
          onChange={(event) => set({ ...filter, flawed: event.currentTarget.checked })}
        />{" "}
        Only what is wrong
      </label>
      <label>
        <input
          type="checkbox"
          checked={filter.beats}
          onChange={(event) => set({ ...filter, beats: event.currentTarget.checked })}
        />{" "}
        Heartbeats
      </label>
      {filter.connection !== undefined && (
        <button type="button" onClick={() => set({ ...filter, connection: undefined })}>
          Connection {filter.connection} ×
        </button>
      )}
      <button
        type="button"
        disabled={JSON.stringify(filter) === JSON.stringify(everything)}
        onClick={() => set(everything)}
      >
        Clear
      </button>
      <output>{shown === all ? `${all} rows` : `${shown} of ${all} rows`}</output>
    </search>
  );
}
