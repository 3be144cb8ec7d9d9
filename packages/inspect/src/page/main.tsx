import { render } from "preact";
import type { PageState } from "../state.js";
import { get } from "./api.js";
import { App } from "./app.js";
import { Edits } from "./edits.js";
import "./page.css";

get<PageState>("/api/state").then(
  (state) => {
    const page = state.review ? (
      <main class="alone">
        <h1>Review edits</h1>
        <Edits review={state.review} />
      </main>
    ) : (
      <App state={state} />
    );
    render(page, document.body);
  },
  (error) => {
    const words = `${(error as Error).message}. Open the address that the command printed.`;
    render(
      <main class="alone">
        <h1>Inspector</h1>
        <p class="problem">{words}</p>
      </main>,
      document.body,
    );
  },
);
