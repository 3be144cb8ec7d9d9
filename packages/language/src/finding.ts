import { branded } from "@parlance/wire/errors";

/** A problem of a contract, and its place. */
export interface Finding {
  /** The rule's name; stable, kebab-case. */
  readonly rule: string;
  /** What is wrong and what to do. */
  readonly message: string;
  /** Relative to the contract's folder. */
  readonly file: string;
  /** JSON Pointer (RFC 6901) into that file; "" is the whole file. */
  readonly pointer: string;
  /** Line and column, from 1, of text that is not JSON: no pointer leads into it. */
  readonly at?: { readonly line: number; readonly column: number };
  /** A warning does not fail lint. Without this, the finding is an error. */
  readonly severity?: "warning";
}

/** A contract that cannot be read. `findings` has every problem, the message has the first. */
export class ContractError extends Error {
  static {
    branded(ContractError, "ContractError");
  }

  declare readonly name: "ContractError";
  readonly code = "contract_unreadable";
  readonly findings: readonly Finding[];

  constructor(contract: string, findings: readonly Finding[]) {
    const [first] = findings;
    const more = findings.length > 1 ? ` (and ${findings.length - 1} more)` : "";
    super(
      first ? `${contract}/${first.file}${first.pointer && `#${first.pointer}`}: ${first.message}${more}` : contract,
    );
    this.findings = findings;
  }
}
