import { READERS, SHAPES } from "../test/hostile.js";

// The process in which `hostile.ts` measures one reader on one shape.
const [shape, reader] = process.argv.slice(2) as [string, string];
const text = SHAPES[shape]!(1 << 20);
const before = process.resourceUsage().maxRSS;
const start = process.cpuUsage();
READERS[reader]!(text);
const { user, system } = process.cpuUsage(start);
const grown = process.resourceUsage().maxRSS - before;
console.log(JSON.stringify([Math.round((user + system) / 1000), Math.round(grown / 1024)]));
