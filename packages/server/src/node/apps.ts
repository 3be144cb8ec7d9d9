import type { App } from "../serve.js";

/** One app, or several with different paths. */
export type Apps = App | readonly App[];

export function asList(apps: Apps): readonly App[] {
  return Array.isArray(apps) ? apps : [apps as App];
}

/** The app that has the path; the first one refuses a path that none has. */
export function choose(apps: readonly App[], pathname: string): App {
  return apps.find((app) => app.knows(pathname)) ?? apps[0]!;
}
