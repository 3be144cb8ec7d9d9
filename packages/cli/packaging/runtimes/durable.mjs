import { fetchOf } from "@parlance/server/workers";
import { makeApps } from "./apps.mjs";

export class Agent {
  #answer = fetchOf(makeApps());

  fetch(request) {
    return this.#answer(request);
  }
}

export default { fetch: (request, env) => env.AGENT.get(env.AGENT.idFromName("one")).fetch(request) };
