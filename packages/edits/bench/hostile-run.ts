import { READERS, SHAPES } from "../test/hostile.js";

// The process in which a reader, or each of them, reads 1 MiB of one shape. It prints processor time and how far the memory grew.
const [shape, reader] = process.argv.slice(2) as [string, string?];
const text = SHAPES[shape]!(1 << 20);
const before = process.resourceUsage().maxRSS;
const start = process.cpuUsage();
for (const [name, read] of Object.entries(READERS)) if (reader === undefined || name === reader) read(text);
const { user, system } = process.cpuUsage(start);
const grown = process.resourceUsage().maxRSS - before;
console.log(JSON.stringify([Math.round((user + system) / 1000), Math.round(grown / 1024)]));
