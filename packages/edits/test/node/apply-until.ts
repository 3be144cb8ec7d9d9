// Carries out the plan on its input until call number argv[2] of the file system took effect; then says so and hangs.
import { text } from "node:stream/consumers";
import { applyPlan } from "@parlance/edits/node";
import { faultyFiles } from "./faulty-files.js";

const plan = JSON.parse(await text(process.stdin));
await applyPlan(plan, { root: plan.root, files: faultyFiles(Number(process.argv[2]), "hang-after") });
process.stdout.write("done\n");
