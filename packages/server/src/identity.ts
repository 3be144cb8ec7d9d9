/*! Contains noble-hashes - MIT License (c) 2022 Paul Miller (paulmillr.com) */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { misuse } from "@parlance/wire";
import { invoke } from "./callback.js";
import type { CallbackOptions } from "./hooks.js";

// Who owns what. Owners, sessions and conversations are named by digests here and nowhere else, because their names appear in errors, in
// the event log and in pub/sub: resume keys and session keys are secrets, and a principal may hold a token.

/** The owner of everything where nobody is authenticated. */
export const ANYBODY = "anybody";
/** The owner of sessions that principals share. */
const SHARED = "shared";
/** Principals whose digests are remembered. */
const MAX_REMEMBERED = 1000;

/**
 * Names a secret or a principal: the first 128 bits of the SHA-256 of a text, in hexadecimal. The one of `crypto.subtle` is asynchronous, and that of
 * Node is not in every runtime.
 */
export function digest(text: string): string {
  return bytesToHex(sha256(utf8ToBytes(text)).subarray(0, 16));
}

/** Whose what a principal holds is. */
export interface IdentityOptions extends Pick<CallbackOptions, "authenticate"> {
  /**
   * Names a principal, which owns its streams, channels and sessions. Needed where it has no `id` and no `sub`.
   *
   * @default the string itself, the `id` of an object, or its `sub` with `iss`. Claims that change with every token identify nobody
   */
  readonly identify?: ((principal: unknown) => string) | undefined;
  /** Whether principals share sessions of the same key. @default false: each principal has sessions of its own */
  readonly sharedSessions?: boolean | undefined;
}

/** Names the owner of what a principal holds. Throws `TypeError` for a principal without an identity. */
export type OwnerOf = (principal: unknown) => string;

export function ownersOf({ authenticate, identify }: IdentityOptions): OwnerOf {
  const digests = new Map<string, string>();
  return (principal) => {
    if (!authenticate) return ANYBODY;
    const identity = identify ? identifiedBy(identify, principal) : identityOf(principal);
    const known = digests.get(identity);
    if (known !== undefined) return known;
    if (digests.size >= MAX_REMEMBERED) digests.clear();
    const owner = digest(identity);
    digests.set(identity, owner);
    return owner;
  };
}

/** A session of an owner, or one that all principals share. */
export function sessionName(options: IdentityOptions, owner: string, key: string): string {
  return `${options.sharedSessions ? SHARED : owner}.${digest(key)}`;
}

/** A resumable stream or channel: only its owner can join it, for the same operation and path. */
export function conversationName(
  contract: string,
  operation: string,
  pathname: string,
  owner: string,
  key: string,
): string {
  return `${contract}/${operation}/${owner}.${digest(JSON.stringify([pathname, key]))}`;
}

/** The owner in the name of a session or conversation. */
export function ownerIn(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1, name.lastIndexOf("."));
}

function identifiedBy(identify: NonNullable<IdentityOptions["identify"]>, principal: unknown): string {
  const name: unknown = identify(principal);
  if (typeof name === "string" && name !== "" && !LONE.test(name)) return `identify:${name}`;
  // The rejection of a promise would end the process.
  invoke(
    () => name,
    () => {},
  );
  const what = name === "" ? "an empty one" : typeof name === "string" ? "one with half of a character" : whatIs(name);
  throw misuse(`identify must return a string at once, not ${what}`);
}

/**
 * The principal itself, its `id`, or its `sub` with `iss`. The rest of a principal may change with every token, so it identifies nobody.
 */
function identityOf(principal: unknown): string {
  const plain = plainOf(principal);
  if (plain !== undefined) return plain;
  if (typeof principal === "object" && principal !== null) {
    const { id, sub, iss } = principal as { readonly id?: unknown; readonly sub?: unknown; readonly iss?: unknown };
    const given = isGiven(id) ? plainOf(id) : undefined;
    if (given !== undefined) return `id:${given}`;
    const subject = isGiven(id) || !isGiven(sub) ? undefined : plainOf(sub);
    const issuer = isGiven(iss) ? plainOf(iss) : "";
    if (subject !== undefined && issuer !== undefined) return `sub:${JSON.stringify([issuer, subject])}`;
  }
  throw misuse(
    `a principal needs an identity: a string or number, or an object whose \`id\` or \`sub\` is a string or number. This one is ${whatIs(principal)} without it: ` +
      "add `id` to what `authenticate` returns, or pass `identify` to `serve`",
  );
}

function isGiven(part: unknown): boolean {
  return part !== undefined && part !== null && part !== "";
}

/** Half of a character. As bytes all of them are the same, so they identify nobody. */
const LONE = /\p{Surrogate}/u;

/** A primitive that identifies by itself, with its type. */
function plainOf(value: unknown): string | undefined {
  const isPlain =
    typeof value === "string"
      ? value !== "" && !LONE.test(value)
      : typeof value === "bigint" || (typeof value === "number" && !Number.isNaN(value));
  return isPlain ? `${typeof value}:${value}` : undefined;
}

function whatIs(value: unknown): string {
  if (value instanceof Promise) return "a promise";
  if (value === "") return "an empty string";
  if (typeof value === "boolean") return "a boolean, which says whether but not who,";
  return Array.isArray(value) ? "an array" : typeof value === "object" ? "an object" : typeof value;
}
