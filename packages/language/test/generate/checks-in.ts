import type { CheckError, Checks } from "@parlance/wire";
import type { ErrorObject } from "ajv/dist/2020.js";
import { transform } from "esbuild";
import { expect } from "vitest";

/** The checks of what the server of the contract `made-up` writes, from its generated files. */
export async function checksIn(files: Readonly<Record<string, string>>): Promise<Checks> {
  const { code } = await transform(files["made-up.validators.ts"]!, { loader: "ts" });
  return ((await import(`data:text/javascript,${encodeURIComponent(code)}`)) as { checks: Checks }).checks;
}

type Errors = readonly Pick<CheckError, "instancePath" | "keyword" | "params">[] | null | undefined;

/**
 * Expects each error to be one of ajv's with `allErrors`. Of a union ajv reports what each alternative lacks, and a generated check one error:
 * it is at the place of the union, or at that of the property that tells its alternatives apart.
 */
export function expectKnown(errors: Errors, of: ErrorObject[] | null | undefined, why = "", at = ""): void {
  const known = (of ?? []).map(({ instancePath, keyword, params }) => ({
    instancePath: at + instancePath,
    keyword,
    params,
  }));
  const unions = known.filter(({ keyword }) => keyword === "anyOf" || keyword === "oneOf");
  for (const { instancePath, keyword, params } of errors ?? []) {
    const places = "found" in params ? [instancePath.replace(/\/[^/]*$/, "")] : [instancePath];
    const isShort = keyword === "anyOf" || keyword === "oneOf" || Array.isArray(params.type) || "found" in params;
    if (!isShort || !unions.some((one) => places.includes(one.instancePath)))
      expect(known, why).toContainEqual({ instancePath, keyword, params });
  }
}
