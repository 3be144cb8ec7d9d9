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
} from "./calls.js";
export type {
  Answer,
  AnswerHeader,
  Channel as ChannelContract,
  Method,
  Operation,
  OperationFault,
  Parameter,
  Stream,
} from "./model/call.js";
export type { Accepts, Check, CheckError, Checks, ContractValue, Examples, Reader, Reads } from "./model/check.js";
export type { Auth, Contract, Retry } from "./model/contract.js";
export type { ContractDocument, TranscriptLine } from "./model/document.js";
export type { Exchange, Reply, Whole } from "./model/exchange.js";
export type { Fault, FaultPlaces } from "./model/fault.js";
export type { Json, Pointer } from "./model/json.js";
export type { Message, Shape, Side, Tag, TextPlaces } from "./model/message.js";
export type { Profile, Reading } from "./model/reading.js";
export type { Schema, SchemaName, SchemaObject } from "./model/schema.js";
