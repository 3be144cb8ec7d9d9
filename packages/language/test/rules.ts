import type { Finding } from "../src/finding.js";
import type { Subject } from "../src/lint/subject.js";

/** Findings as lines: the file where it is no contract.json, the place and the message. */
export const told = (findings: Iterable<Finding>) =>
  [...findings].map(({ file, pointer, message }) => `${file === "contract.json" ? "" : file}#${pointer} ${message}`);
/** What a rule looks at: a contract of these parts. */
export const subject = (contract: object, more: object = {}): Subject =>
  ({
    name: "p",
    source: { name: "p", operations: {}, channels: {} },
    contract: {
      name: "p",
      messages: {},
      operations: {},
      channels: {},
      fault: { schema: "f.json", text: ["/e"] },
      ...contract,
    },
    schemas: {},
    unreadable: new Set(),
    broken: new Set(),
    identified: { schemas: {} },
    transcripts: {},
    ...more,
  }) as unknown as Subject;
