import { Converter } from "typedoc";

/** Names each module of the API reference as it is imported: packages/client/src/node is @parlance/client/node. */
export function load(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const module of project.children ?? [])
      module.name = module.name
        .replace(/^packages\/([^/]+)\/(?:src|(helpers))/, (_, name, helpers) =>
          ["@parlance", name, helpers].filter(Boolean).join("/"),
        )
        .replace(/\/index$/, "");
  });
}
