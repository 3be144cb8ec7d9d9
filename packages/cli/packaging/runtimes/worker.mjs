import { fetchOf } from "@parlance/server/workers";
import { makeApps } from "./apps.mjs";

export default { fetch: (request) => fetchOf(makeApps({ resume: false }))(request) };
