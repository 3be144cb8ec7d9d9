export { rawOf } from "../blocks.js";
export { bodyOf } from "../conversation.js";
export { formatLine, type HeaderList, headerOf, leftOutAs } from "../recording.js";
export { unsendable } from "../replay/loaded.js";
export { urlAt } from "../target.js";
