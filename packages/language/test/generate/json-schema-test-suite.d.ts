declare module "json-schema-test-suite" {
  import type { Json, SchemaObject } from "@parlance/wire";

  interface File {
    readonly schemas: readonly { readonly schema: SchemaObject; readonly tests: readonly { readonly data: Json }[] }[];
  }
  const suite: { loadAllSync(draft: string): readonly File[] };
  export default suite;
}
