import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { ClientLine, ServerPeer } from "@parlance/conformance";
import { ordered } from "@parlance/conformance/internal/run";
import { contractValue } from "@parlance/language/value";
import { expect, onTestFinished, test } from "vitest";
import { hasNginx, startNginx } from "../../packages/server/test/resume/nginx.js";
import { caller } from "./caller.js";
import { listenFixture } from "./fixture.js";
import { contracts, forFixtures, long, notGreen, SEED, suiteAt } from "./suites.js";

// Our server and client hold the suite behind nginx, as docs/deployment.md configures it.

const guide = readFileSync(fileURLToPath(new URL("../../docs/deployment.md", import.meta.url)), "utf8");
const [, documented] = /^```nginx\n([\s\S]*?)^```$/m.exec(guide)!;
/** The configuration of the guide without its certificate, for another upstream. Its workers cannot write files into our folder. */
const configured = (host: string) =>
  documented!
    .replace("127.0.0.1:8080", host)
    .replace("443 ssl", "LISTEN")
    .replace("client_max_body_size 64m;", "$& client_body_buffer_size 64m;")
    .replaceAll(/^ *ssl_.*$/gm, "");

/** By default one for each carrier, and that with bytes and headers. */
const tried = long
  ? contracts
  : contracts.filter((name) => ["based", "emacs-agent", "fold-gateway", "vault"].includes(name));

const some = <T>(cases: readonly T[]) => (long ? [...cases] : ordered(cases, SEED).slice(0, 8));

test.skipIf(!hasNginx).each(tried)(
  "our server of %s passes the suite behind nginx",
  async (name) => {
    const { document, suite } = await suiteAt(name);
    const contract = contractValue(document);
    const behind = await listenFixture(contract);
    const nginx = await startNginx(behind.url, configured(new URL(behind.url).host));
    onTestFinished(async () => {
      await nginx.stop();
      await behind.close();
    });
    const server: ServerPeer = { ...behind, url: nginx.url };
    expect(await notGreen(suite, some(forFixtures(suite.server)), { server, wait: 20_000 })).toEqual([]);
  },
  120_000,
);

test.skipIf(!hasNginx).each(tried)(
  "our client of %s passes the suite behind nginx",
  async (name) => {
    const { document, suite } = await suiteAt(name);
    const contract = contractValue(document);
    // Each case listens on a port of its own, which the path names.
    const http = configured("127.0.0.1")
      .replace(/location \/ \{/, "location ~ ^/(?<port>[0-9]+)(?<rest>/.*)$ {")
      .replace("proxy_pass http://agent;", "proxy_pass http://127.0.0.1:$port$rest$is_args$args;");
    const nginx = await startNginx("", http);
    onTestFinished(() => nginx.stop());
    const ours = caller(contract);
    const client = {
      ...ours,
      call: (line: ClientLine) => ours.call({ ...line, url: `${nginx.url}/${new URL(line.url).port}` }),
    };
    // nginx answers with 502 for an upstream that closes the connection without an answer.
    const cases = suite.client.filter(({ id }) => !/^client\/[^/]+\/cut$/.test(id));
    expect(await notGreen(suite, some(cases), { client, wait: 20_000 })).toEqual([]);
  },
  120_000,
);
