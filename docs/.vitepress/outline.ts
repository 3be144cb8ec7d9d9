/** The pages in reading order: the sidebar, and llms.txt. The pages of packages, protocols and the API are generated. */
export interface Section {
  readonly text: string;
  readonly collapsed?: boolean;
  readonly items: { readonly text: string; readonly link: string }[];
}

const protocols = [
  "acp",
  "ag-ui",
  "ai-ui",
  "agentsmithy",
  "agentsmithy-1.13",
  "based",
  "emacs-agent",
  "fold-gateway",
  "coven",
  "loco",
  "loco-app",
];
const packages = [
  "client",
  "server",
  "edits",
  "protocols",
  "store-redis",
  "react",
  "cli",
  "conformance",
  "recordings",
  "inspect",
  "language",
  "wire",
];

export const outline: Section[] = [
  {
    text: "Learn",
    items: [
      { text: "Which protocol do I take?", link: "/which-protocol" },
      { text: "Streams and cancelling", link: "/streams" },
      { text: "Channels and approvals", link: "/approvals" },
      { text: "Edits from a model", link: "/edits" },
      { text: "Resume and clusters", link: "/resume" },
      { text: "Testing", link: "/testing" },
      { text: "Questions", link: "/questions" },
    ],
  },
  {
    text: "Build a plugin",
    items: [
      { text: "Start here: an editor plugin", link: "/start/editor-plugin" },
      { text: "Talk to any ACP agent", link: "/acp-client" },
      { text: "VS Code", link: "/vscode" },
      { text: "Neovim", link: "/neovim" },
      { text: "Emacs", link: "/emacs" },
      { text: "Inspector", link: "/inspect" },
    ],
  },
  {
    text: "Build an agent",
    items: [
      { text: "Start here: an agent's backend", link: "/start/agent-backend" },
      { text: "Start here: a whole agent", link: "/start/whole-agent" },
      { text: "Start here: an agent on a model", link: "/start/model-agent" },
      { text: "Offer an agent to editors", link: "/acp-agent" },
      { text: "Frameworks", link: "/frameworks" },
      { text: "Runtimes", link: "/runtimes" },
      { text: "Security and deployment", link: "/deployment" },
      { text: "Observability", link: "/observability" },
    ],
  },
  {
    text: "Own a protocol",
    items: [
      { text: "Start here: a protocol of your own", link: "/start/protocol-team" },
      { text: "The contract language", link: "/contract" },
      { text: "Conformance", link: "/conformance" },
      { text: "Recordings", link: "/recordings" },
      { text: "Versions before 1.0", link: "/versions" },
    ],
  },
  {
    text: "Reference",
    items: [
      { text: "Errors", link: "/errors" },
      { text: "Limits", link: "/limits" },
      { text: "What is promised", link: "/promises" },
      { text: "Threats", link: "/threats" },
      { text: "Benchmarks", link: "/bench" },
      { text: "API", link: "/api/" },
    ],
  },
  {
    text: "Protocols",
    collapsed: true,
    items: [
      { text: "All of them", link: "/protocols/" },
      ...protocols.map((name) => ({ text: name, link: `/protocols/${name}/` })),
    ],
  },
  {
    text: "Packages",
    collapsed: true,
    items: packages.map((name) => ({ text: `@parlance/${name}`, link: `/packages/${name}` })),
  },
];
