// The package has types for its main module only, and that one starts Java or a native binary where it finds one.
declare module "recheck/lib/browser.js" {
  type Recheck = Pick<typeof import("recheck"), "checkSync">;
  export const checkSync: Recheck["checkSync"];
  const recheck: Recheck | undefined;
  export default recheck;
}
