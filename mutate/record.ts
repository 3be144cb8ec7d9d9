import { mkdirSync, writeFileSync } from "node:fs";
import { type Debugger, type Profiler, Session } from "node:inspector";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect } from "vitest";

// A setup file of vitest, in a process for each test file: which parts of which scripts the tests of the file run.

const folder = process.env.PARLANCE_REACH!;
const name = `${process.pid}-${Date.now()}`;
// Node reads it at its start: it counts for the processes that the tests start.
process.env.NODE_V8_COVERAGE = join(folder, name);

const session = new Session();
session.connect();
session.post("Profiler.enable");
session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });

afterAll(() => {
  const root = pathToFileURL(`${process.cwd()}/`).href;
  const kept: Profiler.ScriptCoverage[] = [];
  session.post("Profiler.takePreciseCoverage", (error, taken) => {
    if (error) throw error;
    for (const script of taken.result) {
      // A test may load a module twice, as `errors.ts?copy`.
      const [name = ""] = script.url.split(/\?|%3F/);
      const url = name.startsWith("/") ? pathToFileURL(name).href : name;
      if (url.startsWith(root) && !url.includes("/node_modules/")) kept.push({ ...script, url });
    }
  });
  const maps = new Map<string, string | undefined>();
  session.on("Debugger.scriptParsed", ({ params }: { params: Debugger.ScriptParsedEventDataType }) => {
    maps.set(params.scriptId, params.sourceMapURL);
  });
  // Only now: an enabled debugger makes the tests slow. It tells of every script that there is.
  session.post("Debugger.enable");
  const scripts = kept.map(({ scriptId, url, functions }) => {
    let text = "";
    session.post("Debugger.getScriptSource", { scriptId }, (error, { scriptSource }) => {
      if (error) throw error;
      text = scriptSource;
    });
    return { url, functions, text, map: maps.get(scriptId) };
  });
  session.disconnect();
  mkdirSync(folder, { recursive: true });
  const test = expect.getState().testPath;
  writeFileSync(join(folder, `${name}.json`), JSON.stringify({ test, scripts }));
});
