import { useEffect, useId, useState } from "preact/hooks";
import type { CredentialInfo } from "../ask.js";
import { get } from "./api.js";
import { visibleLine } from "./inert.js";

/** The credentials that the inspector has seen, where they are needed; again when there are more calls. Their values never come here. */
export function useCredentials(isNeeded: boolean, calls: number): readonly CredentialInfo[] {
  const [all, setAll] = useState<readonly CredentialInfo[]>([]);
  useEffect(() => {
    // Without the inspector, the end of the feed says so.
    if (isNeeded) get<CredentialInfo[]>("/api/credentials").then(setAll, () => {});
  }, [isNeeded, calls]);
  return all;
}

interface CredentialChoiceProps {
  readonly credentials: readonly CredentialInfo[];
  readonly chosen: number | undefined;
  readonly choose: (c: number | undefined) => void;
}

/** Whose credentials a call is sent with. */
export function CredentialChoice({ credentials, chosen, choose }: CredentialChoiceProps) {
  const id = useId();
  if (credentials.length === 0) return null;
  const isKnown = credentials.some(({ c }) => c === chosen);
  return (
    <span class="credentials">
      <label for={id}>With</label>
      <select
        id={id}
        value={String(chosen ?? "")}
        onChange={(event) => choose(event.currentTarget.value === "" ? undefined : Number(event.currentTarget.value))}
      >
        <option value="">the inspector's own headers</option>
        {!isKnown && chosen !== undefined && <option value={String(chosen)}>those of connection {chosen}</option>}
        {credentials.map(({ c, names }) => (
          <option key={c} value={String(c)}>
            {visibleLine(names.join(", "))} of connection {c}
          </option>
        ))}
      </select>
    </span>
  );
}
