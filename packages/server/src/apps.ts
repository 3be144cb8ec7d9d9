import { misuse } from "@parlance/wire";
import { type HttpRequest, WebRequest } from "./http/request.js";
import type { App } from "./serve.js";

/** Selects an app's requests among several apps at one address. */
export interface Placed {
  readonly app: App;
  /** The path prefix of the app, such as "/v1". The app itself does not see it. */
  readonly path?: string | undefined;
  /** Selects requests by more than their path. The first app that matches answers. An error counts as false, and is printed. */
  readonly when?: ((request: Request) => boolean) | undefined;
}

/** One app, or several at one address, told apart by their paths and by `when`. */
export type Apps = App | Placed | readonly (App | Placed)[];

/** Answers requests for several apps at one address, in any runtime that has `fetch`. */
export function fetchOf(apps: Apps): (request: Request) => Promise<Response> {
  const list = placed(apps);
  return (request) => {
    const chosen = choose(list, new WebRequest(request), knows);
    return chosen ? chosen.app.fetch(chosen.request.request) : list[0]!.app.fetch(request);
  };
}

export function placed(apps: Apps): readonly Placed[] {
  const list: readonly (App | Placed)[] = Array.isArray(apps) ? apps : [apps as App | Placed];
  if (list.length === 0) throw misuse("there is no app to serve");
  return list.map((one) => {
    if (!("app" in one)) return { app: one };
    if (one.path !== undefined && !/^(\/[^/?#]+)+$/.test(one.path))
      throw misuse(`"${one.path}" is not a path to stand below: write it like "/v1"`);
    return one;
  });
}

/** Returns the app that matches a request, and the request as that app sees it. */
export function choose<Asked extends HttpRequest>(
  apps: readonly Placed[],
  request: Asked,
  has: (app: App, pathname: string) => boolean,
): { readonly app: App; readonly request: Asked } | undefined {
  const { pathname } = request;
  for (const { app, path, when } of apps) {
    if (path !== undefined && !pathname.startsWith(`${path}/`)) continue;
    if (!has(app, pathname.slice(path?.length ?? 0)) || (when && !asked(when, request.request))) continue;
    return { app, request: path === undefined ? request : below(path, request) };
  }
  return undefined;
}

export const knows = (app: App, pathname: string): boolean => app.knows(pathname);

function asked(when: NonNullable<Placed["when"]>, request: Request): boolean {
  try {
    return when(request);
  } catch (error) {
    console.error(error);
    return false;
  }
}

function below<Asked extends HttpRequest>(path: string, request: Asked): Asked {
  const url = new URL(request.url);
  url.pathname = url.pathname.slice(path.length);
  return request.at(url) as Asked;
}
