export { transcriptRecording, unsendable } from "../replay/loaded.js";
