export type { ToolCall } from "./node/call.js";
export type { PlanConflict, PlanReason } from "./node/conflict.js";
export { contentHash } from "./node/hash.js";
export type { NameRules } from "./node/names.js";
export { type PlanOptions, planEdits } from "./node/plan.js";
export type { FileChange, Plan, PlannedFile } from "./node/planned.js";
export { type Recovery, recover } from "./node/recover.js";
export type { FileState } from "./node/stage.js";
export { applyPlan, undo, type WriteOptions, type WriteResult, type Written } from "./node/write.js";
