// A server that writes a stream until it is killed: `tsx writer.ts <socket> <stream> <lease>`. It prints each entry's number.
import { redisLog } from "@parlance/store-redis";
import { Redis } from "ioredis";

const [path, stream, lease] = process.argv.slice(2) as [string, string, string];
const log = redisLog({ redis: new Redis(path), lease: Number(lease) });
const writer = (await log.open(stream))!;
console.log(writer.epoch);
for (let seq = 1; ; seq++) {
  await writer.append(seq, `text ${seq}`);
  console.log(seq);
}
