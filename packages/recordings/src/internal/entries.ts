export { rawOf } from "../blocks.js";
export { MAX_CONTENT } from "../bodies.js";
export { bodyOf } from "../conversation.js";
export { leftOutAs } from "../left-out.js";
export { formatLine, type HeaderList, headerOf } from "../recording.js";
export type { FramePort } from "../replay/answering.js";
export { unsendable } from "../replay/loaded.js";
export { urlAt } from "../target.js";
