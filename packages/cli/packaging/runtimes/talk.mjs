// Converses with the server at a URL and prints what it got.
import { converse } from "./converse.mjs";

// Node 20 has no WebSocket of its own.
const options = globalThis.WebSocket ? {} : { webSocket: (await import("@parlance/client/node")).webSocket };
console.log(JSON.stringify(await converse(process.argv[2], options)));
