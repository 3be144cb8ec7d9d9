import { defineConfig } from "vitepress";
import { anchorOf, anchors, outward } from "./links.ts";
import { writeTexts } from "./llms.ts";
import { outline } from "./outline.ts";

const description = "A contract-first SDK for the conversation between an editor and a coding agent";

export default defineConfig({
  title: "Parlance",
  description,
  lang: "en",
  head: [["link", { rel: "icon", href: "/icon.svg", type: "image/svg+xml" }]],
  cleanUrls: true,
  lastUpdated: false,
  outDir: "./.vitepress/dist",
  buildEnd: ({ srcDir, outDir, pages }) => writeTexts(srcDir, outDir, pages, description),
  // The search index is one chunk.
  vite: { build: { chunkSizeWarningLimit: 3000 } },
  themeConfig: {
    nav: [
      { text: "Learn", link: "/streams" },
      { text: "Build a plugin", link: "/start/editor-plugin" },
      { text: "Build an agent", link: "/start/agent-backend" },
      { text: "Own a protocol", link: "/start/protocol-team" },
      { text: "Protocols", link: "/protocols/" },
      { text: "API", link: "/api/" },
    ],
    sidebar: outline,
    search: {
      provider: "local",
      // A word of a guide is more often looked for than a name of the reference.
      options: {
        miniSearch: { searchOptions: { boostDocument: (id: string) => (/^\/(api|protocols)\//.test(id) ? 0.2 : 1) } },
      },
    },
    outline: [2, 3],
    socialLinks: [{ icon: "github", link: "https://github.com/parlance-sdk/parlance" }],
  },
  markdown: {
    html: false,
    // Comments and keywords of the default themes have too little contrast.
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    anchor: { slugify: anchorOf },
    config: (markdown) => void markdown.use(outward).use(anchors),
  },
});
