import { describe, it } from "vitest";
import { subjects } from "../contracts.js";
import { steps } from "../transcript.js";

for (const { contract, document, accepts } of subjects)
  describe.each(Object.entries(document.transcripts))(`The ${contract.name} transcript %s`, (_, lines) => {
    for (const { title, check } of steps(contract, accepts, lines)) it(title, check);
  });
