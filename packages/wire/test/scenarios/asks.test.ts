import { based } from "@parlance/protocols/based";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { loco } from "@parlance/protocols/loco";
import type { AnyContract, AnyMessage, Contract, Exchange, Side, Whole } from "@parlance/wire";
import { Busy, OpenAsks } from "@parlance/wire/link";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { measureGrowth } from "../../../edits/test/growth.js";

type Fields = AnyMessage & Record<string, unknown>;
interface Ask {
  readonly message: Fields;
  readonly exchange: Exchange;
  readonly key: unknown;
}

/** The ask that a reply is for, found by walking all that are open. */
function findPlainly(asks: readonly Ask[], reply: Fields): { message: AnyMessage; partial: boolean } | undefined {
  const able = asks.flatMap((ask) => {
    const { key, answers } = ask.exchange;
    const how = answers.find(
      (answer) =>
        (answer.message ?? answer.operation) === reply.type &&
        (key === undefined || reply[answer.key ?? key] === ask.key),
    );
    return how ? [{ ask, how }] : [];
  });
  const refused = able.filter(({ ask }) => ask.exchange.busy === reply.type);
  const chosen =
    able.find(({ ask }) => ask.exchange.key !== undefined) ??
    able.find(({ ask, how }) => how.echo !== undefined && reply[how.echo] === ask.message.type) ??
    refused[1] ??
    able[0];
  if (!chosen) return undefined;
  const { message } = chosen.ask;
  const about = Object.entries(chosen.how.partial ?? {}).some(([key, values]) =>
    values.some((value) => value === reply[key]),
  );
  return { message, partial: about && !chosen.how.whole?.some((whole) => isWhole(whole, reply, message)) };
}

function isWhole({ when = {}, same = {}, single }: Whole, reply: Fields, ask: Fields): boolean {
  const at = (pointer: string) =>
    pointer
      .split("/")
      .slice(1)
      .reduce<unknown>((value, step) => Object(value)[step], ask);
  return (
    Object.entries(when).every(([key, value]) => reply[key] === value) &&
    Object.entries(same).every(([key, pointer]) => at(pointer) === undefined || at(pointer) === reply[key]) &&
    !(single !== undefined && Array.isArray(at(single)) && (at(single) as unknown[]).length > 1)
  );
}

const contracts = [based, emacsAgent, loco] as readonly AnyContract[];
const cases = contracts.flatMap((contract) =>
  (["client", "server"] as const)
    .filter((side) => contract.exchanges?.some(({ by }) => by === side))
    .map((side) => [contract.name, side, contract] as const),
);

/** Messages of a side's exchanges: their asks, or what answers them, with few values of each field that counts. */
function messages(contract: Contract, side: Side, answers: boolean): fc.Arbitrary<Fields> {
  const exchanges = contract.exchanges!.filter(({ by }) => by === side);
  const kinds = exchanges.flatMap((exchange) =>
    answers
      ? exchange.answers.map((how) => ({
          type: how.message ?? how.operation!,
          fields: [
            how.key ?? exchange.key,
            how.echo,
            ...Object.keys(how.partial ?? {}),
            ...(how.whole ?? []).flatMap(({ same = {} }) => Object.keys(same)),
          ],
          values: [...Object.values(how.partial ?? {}).flat(), ...exchanges.map(({ ask }) => ask)],
        }))
      : [
          {
            type: exchange.ask,
            fields: [exchange.key, ...Object.keys(exchange.when ?? {}), ...named(exchange)],
            values: [...Object.values(exchange.when ?? {}), { file_path: "a" }, { file_path: "b" }, ["a"], ["a", "b"]],
          },
        ],
  );
  return fc.constantFrom(...kinds).chain(({ type, fields, values }) =>
    fc
      .array(fc.constantFrom<unknown>("a", "b", undefined, ...values), {
        minLength: fields.length,
        maxLength: fields.length,
      })
      .map((drawn) => ({
        ...Object.fromEntries(fields.flatMap((field, i) => (field ? [[field, drawn[i]]] : []))),
        type,
      })),
  );
}

/** The ask's properties by which its answers may be whole. */
function named({ answers }: Exchange): string[] {
  const pointers = answers.flatMap(({ whole = [] }) =>
    whole.flatMap(({ same = {}, single }) => [...Object.values(same), ...(single === undefined ? [] : [single])]),
  );
  return [...new Set(pointers.map((pointer) => pointer.split("/")[1]!))];
}

describe.each(cases)("The open asks of %s, by the %s", (_, side, contract) => {
  it("are found as by walking all of them, whatever is asked, answered and withdrawn", () => {
    const step = fc.oneof(
      fc.record({ ask: messages(contract, side, false) }),
      fc.record({ reply: messages(contract, side, true) }),
      fc.record({ withdraw: fc.nat(9) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const asks = new OpenAsks(contract, side);
        let plain: Ask[] = [];
        for (const one of steps) {
          if ("ask" in one) {
            const opened = asks.open(one.ask);
            if (opened) plain.push(opened as Ask & typeof opened);
          } else if ("reply" in one) {
            const wanted = findPlainly(plain, one.reply);
            const found = asks.answer(one.reply);
            expect(found && { message: found.ask.message, partial: found.partial }).toEqual(wanted);
            expect(found?.ask.message).toBe(wanted?.message);
            if (found && !found.partial) plain = plain.filter((ask) => ask !== found.ask);
          } else {
            const ask = plain[one.withdraw];
            // Twice is as once.
            for (let i = 0; ask && i < 2; i++) asks.withdraw(ask);
            plain = plain.filter((other) => other !== ask);
          }
          const open = asks.list();
          expect(plain.every((ask, i) => ask === open[i])).toBe(true);
          expect(asks.size).toBe(plain.length);
        }
      }),
    );
  });

  it("refuse those that they exclude, and no others", () => {
    const step = fc.oneof(
      fc.record({ ask: messages(contract, side, false) }),
      fc.record({ reply: messages(contract, side, true) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const busy = new Busy(contract, side, (type) => ({ type }));
        const asks = new OpenAsks(contract, side);
        for (const one of steps) {
          if ("reply" in one) {
            busy.sent(one.reply);
            asks.answer(one.reply);
            continue;
          }
          const name = asks.exchangeOf(one.ask)?.busy;
          const excluded = name !== undefined && asks.list().some(({ exchange }) => exchange.busy === name);
          expect(busy.received(one.ask)?.type).toBe(excluded ? name : undefined);
          if (!excluded) asks.open(one.ask);
        }
      }),
    );
  });
});

describe.each([
  ["a key", loco, "tool.request_approval", "client.approval_response", "request_id"],
  ["order", based, "list_files", "file_list", undefined],
] as const)("Asks that are answered by %s", (_, contract, ask, answer, key) => {
  const side = key ? "server" : "client";
  const named = (type: string, i: number) => ({ type, ...(key && { [key]: `${i}` }) }) as AnyMessage;

  it("take the same time each, however many are open", async () => {
    const growth = await measureGrowth(
      (size) => () => {
        const asks = new OpenAsks(contract as AnyContract, side);
        for (let i = 0; i < size; i++) asks.open(named(ask, i));
        for (let i = 0; i < size; i++) if (!asks.answer(named(answer, i))) throw new Error("not found");
      },
      10_000,
      2.3,
    );
    expect(growth).toBeLessThan(2.3);
  });
});
