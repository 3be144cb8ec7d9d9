import type { Failure, Why } from "./causes.js";

/** The likely cause of a failure. Empty when the table of causes cannot be loaded, as on an offline page. */
export const why = (failure: Failure): Promise<Why> =>
  import("./causes.js").then(
    ({ causeOf }) => causeOf(failure),
    () => ({ says: "" }),
  );
