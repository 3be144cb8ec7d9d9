// The server of the conversations as a process with a memory log: `tsx serving.ts`. It says the port.
import { scene } from "./conversations.js";

const { server } = await scene();
console.log(server.port);
