// Swaps root/dir between a directory and a symlink to outside, as fast as it can, until its input ends.
// argv: root, outside. Says "ready" after the first swap.
import { renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";

const [root, outside] = process.argv.slice(2);
const dir = join(root, "dir");
const real = join(root, "real");
const link = join(root, "link");
symlinkSync(outside, link);
let running = true;
let said = false;
process.stdin.resume().on("end", () => {
  running = false;
});

function swap() {
  for (let i = 0; i < 50; i++) {
    renameSync(dir, real);
    renameSync(link, dir);
    renameSync(dir, link);
    renameSync(real, dir);
  }
  if (!said) process.stdout.write("ready\n");
  said = true;
  if (running) setImmediate(swap);
}
swap();
