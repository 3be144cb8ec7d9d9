// What an editor's bundler makes of `connect` and one protocol, minified and gzipped, from the built packages.
// `connect` loads the code of streams, of channels and of resume by dynamic imports, when a conversation first needs it: "at
// once" is what a page loads before it calls anything, "in all" is that and all that a conversation of the protocol can load with a server as its
// document describes it, "with resume" is that with a server that offers to resume, and with the first error: nothing of
// such a conversation is left out.
// What parameters in headers, headers of streams and transfers of bytes need is left out everywhere: none of these protocols can load it. What methods
// need is in the figures of ACP alone. Left out is also what only a redirected POST, the `fetch` of another package, or a token over plain http loads.
// What reads refusals and names likely causes (`causes`) is loaded by the first error only: "with resume" alone contains it.
// A contract's checks of what a client writes (`accepts`) stand behind a dynamic import that only servers reach: no figure contains them.

const atOnce = /./;
const all = {
  // No stream of these protocols can be opened again.
  streams: /(accepts|adapted|channel|joining|reopening|resuming|resumable|transfer|causes|unusual)[-.]/,
  channels: /(accepts|adapted|methods|open-stream|joining|reopening|resuming|resumable|transfer|causes|unusual)[-.]/,
  methods: /(accepts|adapted|open-stream|joining|reopening|resuming|resumable|transfer|causes|unusual)[-.]/,
};
const resumed = {
  streams: /(accepts|adapted|channel|joining|reopening|transfer|unusual)[-.]/,
  channels: /(accepts|adapted|methods|open-stream|joining|reopening|transfer|unusual)[-.]/,
  methods: /(accepts|adapted|open-stream|joining|reopening|transfer|unusual)[-.]/,
};

const client = (protocol, when, limit, left) => ({
  name: `client + ${protocol}, ${when}`,
  import: {
    "packages/client/dist/index.js": "{ connect }",
    [`packages/protocols/dist/src/${protocol}.js`]: `{ ${protocol.replace(/-(\w)/, (_, c) => c.toUpperCase())} }`,
  },
  limit,
  gzip: true,
  modifyEsbuildConfig: (config) => ({ ...config, plugins: [...(config.plugins ?? []), leaveOut(left)] }),
});

/** Keeps out of the bundle what is imported dynamically under such a name. */
const leaveOut = (left) => ({
  name: "leave-out",
  setup(build) {
    build.onResolve({ filter: left }, ({ kind, path }) =>
      kind === "dynamic-import" ? { path, external: true } : undefined,
    );
  },
});

const edits = (what, limit, names, entry = "index") => ({
  name: `edits, ${what}`,
  path: `packages/edits/dist/${entry}.js`,
  ...(names && { import: names }),
  limit,
  gzip: true,
});

export default [
  client("fold-gateway", "at once", "8.4 kB", atOnce),
  client("based", "at once", "9 kB", atOnce),
  client("loco", "at once", "11.7 kB", atOnce),
  client("acp", "at once", "14.2 kB", atOnce),
  client("fold-gateway", "in all (with streams)", "14.2 kB", all.streams),
  client("based", "in all (with channels)", "16.95 kB", all.channels),
  client("loco", "in all (with channels)", "19.7 kB", all.channels),
  client("acp", "in all (with methods)", "27 kB", all.methods),
  client("fold-gateway", "with resume", "17.52 kB", resumed.streams),
  client("based", "with resume", "22.7 kB", resumed.channels),
  client("acp", "with resume", "32.7 kB", resumed.methods),
  client("loco", "with resume", "25.4 kB", resumed.channels),
  edits("whole", "45.9 kB"),
  edits("diffs of git", "11.5 kB", "{ parseStrictly, applyStrictly, formatPatch }"),
  edits("unified diffs", "20.3 kB", "{ parsePatch, applyStrictly, formatPatch }"),
  edits("a tool call", "20.9 kB", "{ parseStrReplace, applyPatch }"),
  edits("a model's answer", "41.9 kB", "{ parseEdits, applyPatch, explainConflict }"),
  edits("a stream", "27.3 kB", "{ readEdits }"),
  edits("merge", "4 kB", "{ merge3 }"),
  edits("editor", "17.7 kB", undefined, "editor"),
];
