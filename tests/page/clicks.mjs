// clicks.mjs STORY: the tests of trace.mjs, view.mjs and state.mjs in one browser. Prints TAP.
import { run } from "./tab.mjs";
import "./trace.mjs";
import "./view.mjs";
import "./state.mjs";

await run();
