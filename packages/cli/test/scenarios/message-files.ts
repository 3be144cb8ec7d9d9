/** The file of a message's schema, with one example. All of its properties are required. */
export const schema = (title: string, properties: object, example: object): string =>
  JSON.stringify({
    title,
    description: title,
    type: "object",
    properties,
    required: Object.keys(properties),
    examples: [example],
  });

export const string = { type: "string" };
