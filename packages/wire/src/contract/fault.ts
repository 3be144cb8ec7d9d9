import type { Json, Pointer } from "./json.js";
import type { SchemaName } from "./schema.js";

/** Places in a body; the first is written, all are read. */
export interface FaultPlaces {
  readonly code?: readonly Pointer[];
  readonly text: readonly Pointer[];
  readonly details?: readonly Pointer[];
  /** Written as the details of a refusal that has none. */
  readonly noDetails?: Json;
  readonly recoverable?: readonly Pointer[];
}

export interface Fault extends FaultPlaces {
  /** The HTTP body of a refusal. */
  readonly schema: SchemaName;
  readonly codes?: Readonly<Record<string, FaultCode>>;
}

export interface FaultCode {
  /** The HTTP status that it is answered with. */
  readonly status?: number;
  /** Whether this code is the default for refusals with its status. Other codes are written only when a handler names them. */
  readonly generic?: true;
  readonly recoverable?: boolean;
}
