import { defineConfig } from "vitepress";
import { anchorOf, outward } from "./links.ts";
import { outline } from "./outline.ts";

export default defineConfig({
  title: "Parlance",
  description: "A contract-first SDK for the conversation between an editor and a coding agent",
  lang: "en",
  cleanUrls: true,
  lastUpdated: false,
  outDir: "./.vitepress/dist",
  themeConfig: {
    nav: [
      { text: "Start", link: "/start/editor-plugin" },
      { text: "Guides", link: "/streams" },
      { text: "Contracts", link: "/contract" },
      { text: "Protocols", link: "/protocols/" },
      { text: "API", link: "/api/" },
    ],
    sidebar: outline,
    search: { provider: "local" },
    outline: [2, 3],
    socialLinks: [{ icon: "github", link: "https://github.com/parlance-sdk/parlance" }],
  },
  markdown: { html: false, anchor: { slugify: anchorOf }, config: (markdown) => void markdown.use(outward) },
});
