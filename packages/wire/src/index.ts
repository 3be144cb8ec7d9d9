export { type Bound, bind, type Input } from "./bind.js";
export type {
  AskOptions,
  ByteStream,
  Bytes,
  Call,
  CallContext,
  CallOptions,
  Channel,
  Closed,
  ConnectionChange,
  ConnectionEvent,
  MessageStream,
  OnConnection,
  OpenAsk,
  ReopenOptions,
  ServerChannel,
  Session,
  StreamCall,
  StreamHead,
} from "./contract/calls.js";
export type { Accepts, Check, CheckError, Checks, ContractValue, Examples, Reader, Reads } from "./contract/check.js";
export type {
  Answer,
  AnswerHeader,
  Auth,
  Carrier,
  Channel as ChannelContract,
  Contract,
  Exchange,
  Fault,
  FaultPlaces,
  Message,
  Method,
  Operation,
  OperationFault,
  Parameter,
  Profile,
  Reading,
  Rejoin,
  Reply,
  Retry,
  RpcMethod,
  Shape,
  Side,
  Stream,
  Tag,
  TextPlaces,
  Whole,
} from "./contract/contract.js";
export type { ContractDocument, TranscriptLine } from "./contract/document.js";
export type {
  RpcCall,
  RpcCallOptions,
  RpcChannel,
  RpcHandlerCall,
  RpcId,
  RpcPeer,
  RpcRequest,
  RpcServerCall,
  RpcSession,
} from "./contract/rpc.js";
export type { AnyMessage, Json, Pointer, Schema, SchemaName, SchemaObject } from "./contract/schema.js";
export {
  Disconnected,
  type DisconnectedCode,
  disconnected,
  type Flaw,
  misuse,
  notify,
  Refusal,
  type RefusalDetails,
  Violation,
  type ViolationCode,
} from "./errors.js";
export { type Faulted, fault, faultMessage, unfault, unfaultMessage } from "./fault.js";
export { bindAnswer, bindHeaders, inputName, unbindAnswer } from "./header.js";
export { isObject, type JsonObject, MAX_DEPTH, parseJson } from "./json.js";
export {
  type AnyContract,
  assertChecked,
  type Codec,
  type CodecOptions,
  checkOf,
  codec,
  type DecoderOptions,
  flaws,
  messageDecoder,
  messageEncoder,
  type Unknown,
  type Written,
} from "./message.js";
export { type Arrived, type Unbind, unbind, unbinder } from "./operation.js";
export { carriersOf, type OpenSocket, type Port, type PortEvents, type SocketRefused } from "./port.js";
export {
  BEAT,
  type ChannelOffer,
  type Cursor,
  formatCursor,
  formatGap,
  formatResumable,
  formatResumeFrame,
  formatTicket,
  type Gap,
  parseBeginFrame,
  parseCursor,
  parseGap,
  parseKeyFrame,
  parseResumable,
  parseTicket,
  type Resumable,
} from "./resume.js";
export { isKey, newKey, OFFER, RESUME } from "./resume-key.js";
export { type Route, router } from "./route.js";
export { decoder, encode, encodeComment, type SseDecoder, type SseEvent } from "./sse.js";
export { type Frame, tag } from "./tag.js";
