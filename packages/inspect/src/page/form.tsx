import type { SchemaObject } from "@parlance/wire";
import { useId } from "preact/hooks";
import { type Begin, baseOf, branchesOf, branchOf, choicesOf, type Node, nameOf, resolve, typesOf } from "../schema.js";

interface FieldProps {
  readonly schemas: Readonly<Record<string, SchemaObject>>;
  readonly node: Node;
  readonly base: SchemaObject | undefined;
  readonly value: unknown;
  readonly name: string;
  readonly depth?: number;
  /** Makes the value of a field that is added. */
  readonly begin: Begin;
  /** With undefined the field is left out. */
  readonly change: (value: unknown) => void;
}

/** A field of the form, by its schema: an object's fields, a list's items, a union's branch, or a value. */
export function Field(props: FieldProps) {
  const { schemas, node, depth = 0 } = props;
  const schema = resolve(schemas, node, props.base);
  const base = baseOf(schemas, node, props.base);
  const branches = branchesOf(schema);
  const types = typesOf(schema);
  const inner = { ...props, base, depth };
  if (depth > 8) return <Free {...inner} />;
  if (branches.length > 0 && !schema.properties) return <Union {...inner} branches={branches} />;
  if (choicesOf(schema)) return <Choice {...inner} choices={choicesOf(schema)!} />;
  if (types.length === 1 && types[0] === "object" && schema.properties)
    return <Properties {...inner} schema={schema} />;
  if (types.length === 1 && types[0] === "array" && schema.items)
    return <List {...inner} items={schema.items as Node} />;
  return <Scalar {...inner} schema={schema} type={types.find((type) => type !== "null") ?? "string"} />;
}

function Properties({ schema, value, change, ...rest }: FieldProps & { readonly schema: SchemaObject }) {
  const properties = Object.entries(schema.properties as Record<string, Node>);
  const required = (schema.required ?? []) as readonly string[];
  const object = (typeof value === "object" && value !== null ? value : {}) as Record<string, unknown>;
  const set = (name: string, next: unknown) => {
    const { [name]: _, ...others } = object;
    change(next === undefined ? others : { ...object, [name]: next });
  };
  const fields = properties.map(([name, node]) => {
    const has = Object.hasOwn(object, name);
    if (!has)
      return (
        <button
          key={name}
          type="button"
          class={required.includes(name) ? "add required" : "add"}
          onClick={() => set(name, rest.begin(rest.schemas, node, rest.base))}
        >
          + {name}
          {required.includes(name) ? " (required)" : ""}
        </button>
      );
    return (
      <div class="property" key={name}>
        <Field
          {...rest}
          node={node}
          name={name}
          value={object[name]}
          change={(next) => set(name, next)}
          depth={rest.depth! + 1}
        />
        <button type="button" class="remove" aria-label={`Leave out ${name}`} onClick={() => set(name, undefined)}>
          ×
        </button>
      </div>
    );
  });
  if (rest.depth === 0) return <div class="fields">{fields}</div>;
  return (
    <fieldset class="fields">
      <legend>{rest.name}</legend>
      {fields}
    </fieldset>
  );
}

function List({ items, value, change, ...rest }: FieldProps & { readonly items: Node }) {
  const list = Array.isArray(value) ? value : [];
  return (
    <fieldset class="fields">
      <legend>{rest.name}</legend>
      {list.map((one, at) => (
        <div class="property" key={at}>
          <Field
            {...rest}
            node={items}
            name={`${rest.name} ${at + 1}`}
            value={one}
            change={(next) => change(list.map((old, place) => (place === at ? next : old)))}
            depth={rest.depth! + 1}
          />
          <button
            type="button"
            class="remove"
            aria-label={`Remove ${rest.name} ${at + 1}`}
            onClick={() => change(list.filter((_, place) => place !== at))}
          >
            ×
          </button>
        </div>
      ))}
      <button type="button" class="add" onClick={() => change([...list, rest.begin(rest.schemas, items, rest.base)])}>
        + item
      </button>
    </fieldset>
  );
}

function Union({ branches, ...props }: FieldProps & { readonly branches: readonly SchemaObject[] }) {
  const id = useId();
  const at = branchOf(props.schemas, branches, props.value, props.base);
  const label = (branch: SchemaObject, place: number) => {
    const schema = resolve(props.schemas, branch, props.base);
    return String(schema.title ?? schema.description ?? typesOf(schema)[0] ?? `form ${place + 1}`);
  };
  return (
    <div class="union">
      <label for={id}>{props.name}</label>
      <select
        id={id}
        value={String(at)}
        onChange={(event) =>
          props.change(props.begin(props.schemas, branches[Number(event.currentTarget.value)], props.base))
        }
      >
        {branches.map((branch, place) => (
          <option key={place} value={String(place)}>
            {label(branch, place).slice(0, 80)}
          </option>
        ))}
      </select>
      <Field {...props} node={branches[at]} depth={props.depth! + 1} />
    </div>
  );
}

function Choice({ choices, name, value, change }: FieldProps & { readonly choices: readonly unknown[] }) {
  const id = useId();
  const at = choices.findIndex((one) => JSON.stringify(one) === JSON.stringify(value));
  return (
    <div class="scalar">
      <label for={id}>{name}</label>
      <select id={id} value={String(at)} onChange={(event) => change(choices[Number(event.currentTarget.value)])}>
        {at < 0 && <option value="-1">{JSON.stringify(value)} (not allowed)</option>}
        {choices.map((one, place) => (
          <option key={String(one)} value={String(place)}>
            {String(one)}
          </option>
        ))}
      </select>
    </div>
  );
}

function Scalar({
  schema,
  type,
  name,
  value,
  change,
}: FieldProps & { readonly schema: SchemaObject; readonly type: string }) {
  const id = useId();
  const hint = schema.description;
  if (type === "boolean")
    return (
      <div class="scalar">
        <label for={id}>{name}</label>
        <input
          id={id}
          type="checkbox"
          checked={value === true}
          onChange={(event) => change(event.currentTarget.checked)}
        />
      </div>
    );
  const isNumber = type === "integer" || type === "number";
  const isText = typeof value === "string" || typeof value === "number";
  if (!isText && type !== "string" && !isNumber) return <Free {...{ name, value, change }} />;
  const text = isText ? String(value) : value === null || value === undefined ? "" : JSON.stringify(value);
  const input = (event: { readonly currentTarget: { readonly value: string } }) => {
    const typed = event.currentTarget.value;
    change(isNumber && typed !== "" && !Number.isNaN(Number(typed)) ? Number(typed) : typed);
  };
  const isLong = text.length > 60 || text.includes("\n");
  return (
    <div class="scalar">
      <label for={id}>
        {name} <span class="soft">{nameOf(value) === type || !isText ? type : `${type}, now ${nameOf(value)}`}</span>
      </label>
      {isLong ? (
        <textarea id={id} rows={4} dir="auto" value={text} onInput={input} title={hint} />
      ) : (
        <input id={id} dir="auto" value={text} onInput={input} title={hint} />
      )}
    </div>
  );
}

/** A value without a form of its own: its JSON. */
function Free({ name, value, change }: Pick<FieldProps, "name" | "value" | "change">) {
  const id = useId();
  return (
    <div class="scalar">
      <label for={id}>{name} (JSON)</label>
      <textarea
        id={id}
        rows={3}
        value={JSON.stringify(value, null, 2)}
        onChange={(event) => {
          try {
            change(JSON.parse(event.currentTarget.value));
          } catch {
            change(event.currentTarget.value);
          }
        }}
      />
    </div>
  );
}
