export { transcriptRecording, uncompared, unsendable } from "../replay/loaded.js";
