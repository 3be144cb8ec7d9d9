// Serves the apps by the runtime's own `listen`, until its input ends. Prints the URL, and in the end what is held.
import { left, makeApps } from "./apps.mjs";

const { listen } = await import(`@parlance/server/${process.argv[2]}`);
const apps = makeApps();
const server = await listen(apps, { port: 0, closeAfter: 500 });
console.log(JSON.stringify({ url: server.url }));
for await (const _ of process.stdin);
const held = () => apps.flatMap((app) => Object.entries(app.stats())).filter(([, count]) => count > 0);
// A client that has gone closes its connections a moment later.
for (let i = 0; i < 100 && held().some(([name]) => name === "calls"); i++)
  await new Promise((resolve) => setTimeout(resolve, 20));
const names = new Set(held().map(([name]) => name));
// A stream that may be joined again keeps its place, its log and a timer until its grace is over.
for (const kept of ["kept", "logged", "timers"]) names.delete(kept);
await server.close();
console.log(JSON.stringify({ left: left.count, open: [...names], held: held() }));
// A connection that hangs does not keep the program.
process.exit();
