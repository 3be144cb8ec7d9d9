// A client in a worker: converses with the server that the query names.
import { converse } from "./converse.mjs";

export default {
  async fetch(request) {
    return Response.json(await converse(new URL(request.url).searchParams.get("server")));
  },
};
