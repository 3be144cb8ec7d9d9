import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/**
 * Words that a reader of the field does not know, and sentences that have to be read twice, each with what is written instead.
 * Where a word has an ordinary meaning too, the pattern is the form in which it had the other one.
 */
const retired: readonly (readonly [pattern: RegExp, instead: string])[] = [
  // Terms.
  [/\btold (by|apart by another)\b/, "discriminator, tag"],
  [/\bwhat answers what\b/i, "request matching, correlation"],
  [/\b(is|are|was|were) (said|told)\b(?! apart)/, "is sent, is reported, gets an error"],
  [/\b(client|server|gateway|peer) (says|said)\b(?! (no|so)\b)/, "sends, answers"],
  [/\bSaid\b/, "Envelope, EncodedMessage, Message"],
  [/\b[mM]akeFeed\b|\bFeed\b|\/feed\.js\b|\b(SSE|stream) feed\b/, "SSE writer"],
  [/\bruns? that (outlives?|survives?)\b/, "resumable stream"],
  [/\b(bury|buries|buried|undertaker)\b/, "tombstone"],
  [/\brelay/i, "pub/sub"],
  [/\b(inquiry|handover|Following)\b|\b(passing|following)\.js\b/, "query, channel routing, outbox, subscriptions"],
  [/\.leave\(|\bleave\(\)/, "abort the handler, detach a reader, unsubscribe"],
  [/\b(forsake|vacate|occup(y|ies))\b/, "abandon, release, acquire"],
  [/\bjoined writes?\b|\bwrites? (is|are|were) joined\b/, "batched"],
  [/\bheaders? (is|are) late\b|\blate headers?\b/, "headers due"],
  [/\b(is|are|a) lasting (stream|channel|connection|socket)s?\b|\bconst lasting\b/, "reconnecting, resumable"],
  [/\bloading\.js\b/, "lazy"],
  [
    /\bears\b|\b[sS]cenes?\b|\bcampaign|\btalks\.js\b|\bconst talks\b/,
    "subscriber, run a conversation, fixture, fault schedule",
  ],
  [
    /\b(Server|Client)Stage\b|\bkit\.js\b|\b(tapeOf\w*|loadTape|takesIn|takeSocket)\b/,
    "samples, peer, recording, calls, upgrade",
  ],
  [/\bno schema says\b/, "hand-written helpers"],
  [/\bwhere it is said\b/, "where it is specified"],
  [/\beverything that is wrong\b/, "every problem"],
  // Sentences.
  [/\bwould not do\b/, "what happens instead"],
  [/\bthere within so many\b|\bnothing comes soon\b/, "a race against a timeout"],
  [/\blet the caller in\b/, "the handler finished without a message or a refusal"],
  [/\b(heard of|hears? of it)\b/, "is reported, is aborted, gets an error"],
  [/\btakes a name before\b/i, "reserves the key"],
  [/\bwhoever\b/i, "a client, a caller, a reader"],
  [/\bnone that is good\b/, "invalid"],
  [/\b(still|is) believed\b/, "assumed, trusted"],
  [/\basks that are decided\b/i, "settled asks"],
  [/\bnobody has said\b/i, "the connection was lost"],
  [/\bport that, cut\b/, "a port that reconnects"],
  [/\bis nobody's\b/, "is treated as not found"],
  [/\bdawdle/, "is slow"],
  [/\bnobody waits\b/i, "every wait has a timeout"],
  [/\bprotocols that exist in the world\b/, "existing protocols"],
  [/\bare read from it\b/, "are generated from it"],
  [/\bhears what\b/i, "called for"],
  // Riddles.
  [/\bunless told\b/, "by default"],
  [/\bwhat waits\b/i, "queued, buffered or open things, by name"],
  [/\bof theirs\b/, "its own"],
];

/** Generated files, lists of names, data, and the two lists of these words. */
const left =
  /pnpm-lock|protocols\/src\/|exports\.txt|\/transcripts\/|test\/words\.test\.ts|test\/scenarios\/prose\.test\.ts|^\.changeset\//;

test("no retired word is left in code, documents or schemas", () => {
  const tracked = execFileSync("git", ["ls-files", "-co", "--exclude-standard"], { cwd: root, encoding: "utf8" });
  const files = tracked.split("\n").filter((file) => /\.(ts|md|json|mjs|html|css)$/.test(file) && !left.test(file));
  expect(files.length).toBeGreaterThan(500);
  const found = files.flatMap((file) =>
    readFileSync(join(root, file), "utf8")
      .split("\n")
      .flatMap((line, i) =>
        retired.flatMap(([pattern, instead]) =>
          pattern.test(line) ? [`${file}:${i + 1}: ${line.trim()} (${instead})`] : [],
        ),
      ),
  );
  expect(found).toEqual([]);
});
