export {
  Disconnected,
  type DisconnectedCode,
  type Flaw,
  Refusal,
  type RefusalDetails,
  Violation,
  type ViolationCode,
} from "./errors.js";
export { type Answered, type OpenAsks, openAsks, type Waiting } from "./exchange.js";
export { type Faulted, fault, faultMessage, unfault, unfaultMessage } from "./fault.js";
export { isObject, type JsonObject, MAX_DEPTH, parseJson } from "./json.js";
export { type AnyChannel, type Link, type LinkOptions, link } from "./link.js";
export {
  type AnyContract,
  assertChecked,
  type Codec,
  checkOf,
  codec,
  flaws,
  type Unknown,
  type Written,
} from "./message.js";
export { type Arrived, type Bound, bind, type Input, inputName, unbind } from "./operation.js";
export {
  type OpenSocket,
  type Port,
  type PortEvents,
  pair,
  type SocketLike,
  type SocketRefused,
  socketPort,
} from "./port.js";
export { type Queue, queue } from "./queue.js";
export { reader } from "./reading.js";
export { type Route, router } from "./route.js";
export { decoder, encode, encodeComment, type SseDecoder, type SseEvent } from "./sse.js";
export { type AnyMessage, type Frame, tag, untag } from "./tag.js";
