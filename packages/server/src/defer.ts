/** Runs after the promises of this tick, so that what is said within one tick can be taken as one. */
export const defer: (run: () => void) => void =
  typeof setImmediate === "function" ? setImmediate : (run) => void setTimeout(run, 0);
