import { fetchOf } from "@parlance/server/workers";
import { makeApps } from "./apps.mjs";

const answer = fetchOf(makeApps({ resume: false }));
export default { fetch: (request) => answer(request) };
