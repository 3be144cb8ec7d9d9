import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { fault, faultMessage, Refusal } from "@parlance/wire";
import { describe, expect, it } from "vitest";
import { subjects } from "../contracts.js";

const server = fileURLToPath(new URL("../../../server/src", import.meta.url));
const sources = readdirSync(server, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
/** The statuses that the server refuses with by itself, whatever the handlers say. */
const generic = [
  ...new Set(
    sources.flatMap((file) => {
      const text = readFileSync(`${server}/${file}`, "utf8");
      return [...text.matchAll(/new Refusal\([\s\S]*?\);/g)].flatMap(([call]) =>
        [...call.matchAll(/\b4\d\d\b|\b5\d\d\b/g)].map(([status]) => status),
      );
    }),
  ),
].sort();

it("the server refuses by itself with more than a few statuses", () => {
  expect(generic).toEqual(
    expect.arrayContaining(["400", "401", "403", "404", "405", "409", "413", "415", "501", "503"]),
  );
});

describe.each(subjects.map((subject) => [subject.contract.name, subject] as const))(
  "%s",
  (_, { contract, document }) => {
    it("declares every status that a server of it may answer by itself", () => {
      const channels = Object.keys(contract.channels).length > 0;
      const declared = Object.keys(document.source.faults as object);
      const answered = generic.filter(
        (status) => (status !== "401" || contract.auth) && (status !== "426" || channels),
      );
      expect(declared).toEqual(expect.arrayContaining(answered));
    });

    it("answers a refusal in the form of its own schema", () => {
      for (const status of [400, 403, 404, 409, 413, 426, 500]) {
        const { body } = fault(contract, undefined, new Refusal("no", { status }));
        const check = contract.checks[contract.fault.schema]!;
        expect([body, check(JSON.parse(body)), check.errors]).toEqual([body, true, null]);
      }
    });

    const codes = contract.fault.codes ?? {};
    // Codes may stand in messages only, and not in the body of a refusal.
    if (Object.keys(codes).length === 0 || contract.fault.code === undefined) return;
    const statuses = Array.from({ length: 200 }, (_, i) => i + 400);
    const codeOf = (refusal: Refusal): string => JSON.parse(fault(contract, undefined, refusal).body).error.code;

    it("writes a refusal without a code of the protocol with a generic one, and never with one of its own", () => {
      for (const status of statuses)
        for (const code of [undefined, "refused", `status_${status}`, "SOMEBODY_ELSES"])
          expect(codes[codeOf(new Refusal("no", { status, code }))]).toMatchObject({ generic: true });
    });

    it("has a generic code of its own for every such status, and one only", () => {
      for (const status of generic) {
        if (status === "426" && Object.keys(contract.channels).length === 0) continue;
        const own = Object.values(codes).filter((code) => code.generic && code.status === Number(status));
        expect([status, own.length]).toEqual([status, 1]);
      }
    });

    if (contract.fault.details)
      it("writes empty details where a refusal has none", () => {
        for (const [details, written] of [
          [undefined, {}],
          [{ a: 1 }, { a: 1 }],
        ]) {
          const refusal = new Refusal("no", { details });
          expect(JSON.parse(fault(contract, undefined, refusal).body).error.details).toEqual(written);
          for (const [name, { fault: places }] of Object.entries(contract.messages))
            if (places?.details)
              expect(faultMessage(contract, name, refusal)).toMatchObject({ error: { details: written } });
        }
      });

    it("writes a code that a handler names", () => {
      for (const code of Object.keys(codes)) expect(codeOf(new Refusal("no", { code }))).toBe(code);
    });
  },
);
