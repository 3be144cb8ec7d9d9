import { useId } from "preact/hooks";
import type { ParameterNote } from "../state.js";

interface ParameterProps {
  readonly name: string;
  readonly kind: string;
  readonly note: ParameterNote;
  readonly value: string;
  readonly change: (value: string) => void;
}

/** A parameter's text. What the contract allows is offered, and anything else can be written, to be sent although it is wrong. */
export function Parameter({ name, kind, note, value, change }: ParameterProps) {
  const id = useId();
  const choices = note.enum ?? [];
  return (
    <p class="scalar">
      <label for={id}>
        {name} <span class="soft">{kind}</span>
      </label>
      <input
        id={id}
        value={value}
        title={note.description}
        placeholder={note.default === undefined ? undefined : String(note.default)}
        list={choices.length > 0 ? `${id}-choices` : undefined}
        onInput={(event) => change(event.currentTarget.value)}
      />
      {choices.length > 0 && (
        <datalist id={`${id}-choices`}>
          {choices.map((one) => (
            <option key={String(one)} value={String(one)} />
          ))}
        </datalist>
      )}
    </p>
  );
}
