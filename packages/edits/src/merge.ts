export { type Merge, type MergeConflict, merge3 } from "./algebra/merge.js";
export { mergePatches, type PatchConflict, type PatchMerge } from "./algebra/merge-patches.js";
