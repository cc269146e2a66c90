import { render } from "preact";
import { App } from "./app";
import { loadLinks } from "./state/links";
import { loadOrder } from "./state/service_order";
import { applyTheme } from "./state/theme";
import { start } from "./state/url";
import "./tokens.css";
import "./shell.css";
import "./views.css";

applyTheme();
start();
void loadLinks();
const root = document.getElementById("app");
void loadOrder().then(() => {
  if (root) render(<App />, root);
});
