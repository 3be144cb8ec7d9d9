import type { ChannelContract, Stream } from "@parlance/wire";
import { escapeStep, valueAt } from "@parlance/wire/internal/pointer";
import type { Finding } from "../finding.js";
import { messageOf, prefixOf } from "../prefix.js";
import { examplesOf, inContract, type Subject } from "./subject.js";

/** A name that is a prefix, such as `data-*`, is for messages without a meaning of their own, and its examples are read by it. */
export function* prefixes(subject: Subject): Generator<Finding> {
  const { contract } = subject;
  if (contract.methods) return;
  const names = Object.keys(contract.messages);
  for (const name of names.filter((one) => one.endsWith("*"))) {
    const at = `/messages/${escapeStep(name)}`;
    const prefix = prefixOf(contract, name);
    if (prefix === undefined)
      yield inContract(
        "prefix",
        at,
        `"${name}" is a prefix, and messages that are told apart by their shape have no names on the wire; write the name without "*"`,
      );
    else if (prefix === "")
      yield inContract("prefix", at, '"*" would be every message; an unknown one goes to `onUnknown` without it');
    else yield* examples(subject, name);
  }
  for (const [name, pointer] of single(subject))
    if (name !== undefined && Object.hasOwn(contract.messages, name) && prefixOf(contract, name) !== undefined)
      yield inContract(
        "prefix",
        pointer,
        `"${name}" is a prefix, and what is meant here is one message; name that one, and add it to "messages"`,
      );
}

/** An exact name, and a longer prefix, come first. */
function* examples(subject: Subject, name: string): Generator<Finding> {
  const { contract } = subject;
  if (contract.tag.in !== "property") return;
  const file = contract.messages[name]!.schema;
  for (const [index, example] of examplesOf(subject, file).entries()) {
    const tag = valueAt(example, [contract.tag.property]);
    const meant = typeof tag === "string" ? messageOf(contract, Object.keys(contract.messages), tag) : name;
    if (meant !== undefined && meant !== name)
      yield {
        rule: "prefix",
        file,
        pointer: `/examples/${index}`,
        message: `is read as ${meant}, which names it more closely than ${name}; give it another ${contract.tag.property}`,
      };
  }
}

/** The places of contract.json that name one message. */
function* single({ contract }: Subject): Generator<[name: string | undefined, pointer: string]> {
  for (const [name, { fault }] of Object.entries(contract.messages))
    if (fault !== undefined) yield [name, `/messages/${escapeStep(name)}/fault`];
  for (const [name, { answer }] of Object.entries(contract.operations)) {
    const { stream } = answer;
    const at = `/operations/${name}/answer/stream`;
    if (stream === undefined) continue;
    for (const word of ["end", "mayEnd"] as const)
      for (const [index, one] of (stream[word] ?? []).entries()) yield [one, `${at}/${word}/${index}`];
    yield* interpreted(stream, at);
  }
  for (const [name, channel] of Object.entries(contract.channels)) {
    const at = `/channels/${name}`;
    yield [channel.open?.client, `${at}/open/client`];
    yield [channel.open?.server, `${at}/open/server`];
    yield [channel.cancel, `${at}/cancel`];
    yield* interpreted(channel, at);
  }
  for (const [index, { ask, busy, answers }] of (contract.exchanges ?? []).entries()) {
    yield [ask, `/exchanges/${index}/ask`];
    yield [busy, `/exchanges/${index}/busy`];
    for (const [place, { message }] of answers.entries())
      yield [message, `/exchanges/${index}/answers/${place}/message`];
  }
  for (const [profile, additions] of Object.entries(contract.profiles ?? {}))
    for (const name of Object.keys(additions)) yield [name, `/profiles/${profile}/${escapeStep(name)}`];
}

function* interpreted({ fault, text }: Stream | ChannelContract, at: string): Generator<[string | undefined, string]> {
  yield [fault, `${at}/fault`];
  for (const [kind, places] of Object.entries(text ?? {}))
    for (const name of Object.keys(places)) yield [name, `${at}/text/${kind}/${escapeStep(name)}`];
}
