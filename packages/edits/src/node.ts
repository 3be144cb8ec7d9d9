export type { ToolCall } from "./node/call.js";
export type { FileChange, FileState, Plan, PlannedFile } from "./node/changes.js";
export type { PlanConflict, PlanReason } from "./node/conflict.js";
export { contentHash } from "./node/files.js";
export type { NameRules } from "./node/names.js";
export type { PlanOptions } from "./node/options.js";
export { planEdits } from "./node/plan.js";
export { type Recovery, recover } from "./node/recover.js";
export { applyPlan, undo, type WriteOptions, type WriteResult, type Written } from "./node/write.js";
