import type { AnyContract } from "@parlance/wire";
import { brief, MAX_QUOTED, quoteBody, Refusal } from "@parlance/wire/errors";
import type { Failure, Refused, Why } from "./causes.js";

/** The likely cause of a failure. Empty when the table of causes cannot be loaded, as on an offline page. */
export const why = (failure: Failure): Promise<Why> =>
  import("./causes.js").then(
    ({ causeOf }) => causeOf(failure),
    () => ({ says: "" }),
  );

/** Reads a refusal. Only its status is known when the code that reads it cannot be loaded. */
export const refusalOf = (contract: AnyContract, refused: Refused): Promise<Refusal> =>
  import("./causes.js").then(
    ({ refusal }) => refusal(contract, refused),
    ({ message }) => {
      const { status, body } = refused;
      const { text, details = text ? { body: text } : undefined } = quoteBody(body);
      return new Refusal(`status ${status}, its reason not read: ${brief(message, MAX_QUOTED)}`, {
        status,
        bare: !body,
        details,
      });
    },
  );
