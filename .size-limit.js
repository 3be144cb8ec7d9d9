// What an editor's bundler makes of `connect` and one protocol, minified and gzipped, from the built packages.
// `connect` loads its channel code by a dynamic import, and only when the contract has a channel. A contract's checks of what
// a client writes (`accepts`) stand behind a dynamic import that only servers reach: no figure here contains them.

const client = (name, protocol, limit, lazy) => ({
  name,
  import: {
    "packages/client/dist/index.js": "{ connect }",
    [`packages/protocols/dist/src/${protocol}.js`]: `{ ${protocol.replace(/-(\w)/, (_, c) => c.toUpperCase())} }`,
  },
  limit,
  gzip: true,
  modifyEsbuildConfig: (config) => ({ ...config, plugins: [...(config.plugins ?? []), leaveOut(lazy)] }),
});

/** Keeps what is imported dynamically out of the bundle: all of it, or `accepts` only. */
const leaveOut = (lazy) => ({
  name: "leave-out",
  setup(build) {
    build.onResolve({ filter: lazy ? /\.accepts-/ : /./ }, ({ kind, path }) =>
      kind === "dynamic-import" ? { path, external: true } : undefined,
    );
  },
});

export default [
  client("client + fold-gateway, all that it loads (streams only)", "fold-gateway", "8 kB", false),
  client("client + based, with the channel code that it loads on demand", "based", "12 kB", true),
  client("client + loco, with the channel code that it loads on demand", "loco", "18 kB", true),
];
