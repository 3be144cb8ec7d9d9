import { testFences } from "./fences.js";

for (const guide of ["streams", "approvals", "resume", "edits", "deployment", "acp-client", "acp-agent"])
  testFences(new URL(`../../../docs/${guide}.md`, import.meta.url));
