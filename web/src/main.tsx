import { render } from "preact";
import { App } from "./app";
import { applyTheme } from "./state/theme";
import { start } from "./state/url";
import "uplot/dist/uPlot.min.css";
import "./tokens.css";
import "./shell.css";
import "./views.css";

applyTheme();
start();
const root = document.getElementById("app");
if (root) render(<App />, root);
