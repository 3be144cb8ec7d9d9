export { callFences } from "./call-fence.js";
export {
  formatStrReplace,
  parseStrReplace,
  type StrReplaceCall,
  type StrReplaceOptions,
  type StrReplaceWriting,
} from "./calls.js";
