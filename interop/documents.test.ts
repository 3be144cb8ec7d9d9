import SwaggerParser from "@apidevtools/swagger-parser";
import { Parser } from "@asyncapi/parser";
import { docs } from "@parlance/language/generate";
import { assemble } from "@parlance/language/load";
import { describe, expect, it } from "vitest";
import { vaultFiles } from "../packages/cli/test/vault-files.js";
import { named } from "../packages/language/test/generate/contracts.js";
import { everything } from "../packages/language/test/generate/everything.js";
import { pets } from "../packages/language/test/pets.js";

const subjects = [
  ["pets", assemble(pets(everything))] as const,
  ["vault", assemble({ name: "vault", files: vaultFiles })] as const,
  ...named,
];
/** AsyncAPI's parser takes seconds. Without PARLANCE_LONG it reads the contracts of tests, and one of streams and one of channels. */
const parsed = process.env.PARLANCE_LONG ? subjects.map(([name]) => name) : ["pets", "vault", "fold-gateway", "loco"];

describe.each(subjects)("the documents of %s", (name, document) => {
  const texts = docs(document);

  it("pass the official parser of OpenAPI", async () => {
    const api = JSON.parse(texts[`${name}.openapi.json`]!);
    await expect(SwaggerParser.validate(api)).resolves.toMatchObject({ openapi: api.openapi });
  });

  it.runIf(parsed.includes(name))("pass the official parser of AsyncAPI without an error", async () => {
    const { document: api, diagnostics } = await new Parser().parse(texts[`${name}.asyncapi.json`]!);
    expect(diagnostics.filter(({ severity }) => severity === 0)).toEqual([]);
    const messages = api!.components().messages().all();
    expect(messages.map((message) => message.id())).toEqual(
      expect.arrayContaining(Object.keys(document.contract.messages)),
    );
  });
});
