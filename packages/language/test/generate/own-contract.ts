import { assemble } from "@parlance/language/load";
import type { ContractDocument, SchemaObject } from "@parlance/wire";

/** A contract of one stream `talk`, whose messages are named here, and whatever other schemas. */
export function contract(
  messages: Readonly<Record<string, SchemaObject>>,
  others: readonly SchemaObject[] = [],
  more: object = {},
): ContractDocument {
  const files: Record<string, string> = {};
  const put = (schema: SchemaObject) => {
    const file = `messages/${schema.title!.toLowerCase()}.json`;
    files[file] = JSON.stringify(schema);
    return file;
  };
  const listed = Object.fromEntries(Object.entries(messages).map(([name, schema]) => [name, { schema: put(schema) }]));
  for (const schema of others) put(schema);
  const fault = put({ title: "FaultBody", type: "object", properties: { error: { type: "string" } } });
  files["contract.json"] = JSON.stringify({
    format: 1,
    name: "made-up",
    title: "Made up",
    url: "http://localhost:1",
    tag: { in: "event" },
    messages: listed,
    operations: {
      talk: {
        method: "GET",
        path: "/talk",
        summary: "Talk.",
        answer: { status: 200, stream: { messages: Object.keys(messages) } },
      },
    },
    channels: {},
    fault: { schema: fault, text: ["/error"] },
    ...more,
  });
  return assemble({ name: "made-up", files });
}
export const object = (title: string, properties: object = {}): SchemaObject => ({ title, type: "object", properties });
