/** Runs a function after this tick's promises, so that one tick's messages form one batch. */
export const defer: (run: () => void) => void =
  typeof setImmediate === "function" ? setImmediate : (run) => void setTimeout(run, 0);

/** Whether one timer may serve several requests. In Cloudflare workers a timer ends with the request that has set it. */
export const sharesTimers =
  (globalThis as { readonly navigator?: { readonly userAgent?: string } }).navigator?.userAgent !==
  "Cloudflare-Workers";
