import type { Failure, Why } from "./causes.js";

/** The likely cause of a failure. A page that is offline may be unable to load the table of causes: then there are no words. */
export const why = (failure: Failure): Promise<Why> =>
  import("./causes.js").then(
    ({ causeOf }) => causeOf(failure),
    () => ({ says: "" }),
  );
