// What an editor's bundler makes of `connect` and one protocol, minified and gzipped, from the built packages.
// `connect` loads the code of operations, of streams, of channels and of joining again by dynamic imports, when a conversation first needs it: "at
// once" is what a page loads before it calls anything, "in all" is that and all that a conversation of the protocol can load (based has no operations).
// What parameters in headers and transfers of bytes need is left out everywhere: none of these protocols can load it.
// The sentences of likely causes (`causes`) are loaded by the first error only: no figure contains them.
// A contract's checks of what a client writes (`accepts`) stand behind a dynamic import that only servers reach: no figure contains them.

const atOnce = /./;
const all = {
  // No stream of these protocols can be opened again.
  streams: /(accepts|channel|reopening|resuming|resumable|headers|transfer|causes)[-.]/,
  channels: /(accepts|stream|reopening|resuming|resumable|headers|transfer|causes)[-.]/,
  channelsAlone: /(accepts|stream|reopening|operation|resuming|resumable|headers|transfer|causes)[-.]/,
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

const edits = (entry, what, limit, names) => ({
  name: `edits, ${what}`,
  path: `packages/edits/dist/${entry}.js`,
  ...(names && { import: names }),
  limit,
  gzip: true,
});

export default [
  client("fold-gateway", "at once", "4.38 kB", atOnce),
  client("based", "at once", "4.85 kB", atOnce),
  client("loco", "at once", "7.35 kB", atOnce),
  client("fold-gateway", "in all (with streams)", "11.44 kB", all.streams),
  client("based", "in all (with channels)", "15.45 kB", all.channelsAlone),
  client("loco", "in all (with channels)", "18.65 kB", all.channels),
  edits("index", "whole", "53.9 kB"),
  edits("unified", "unified diffs", "15.7 kB", "{ parsePatch, applyPatch, formatPatch }"),
  edits("unified", "unified diffs, applied strictly", "13.1 kB", "{ parsePatch, applyStrictly, formatPatch }"),
  edits("stream", "stream of all formats", "26.4 kB", "{ readEdits }"),
  edits("merge", "merge", "6.5 kB"),
  edits("lsp", "lsp", "23.2 kB"),
];
