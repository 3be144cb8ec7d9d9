// The server of the conversations as a process with a memory log: `tsx serving.ts`. It prints the port.
import { fixture } from "./conversations.js";

const { server } = await fixture();
console.log(server.port);
