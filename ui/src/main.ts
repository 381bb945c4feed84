import "./app.css";
import { mount } from "svelte";
import App from "./views/App.svelte";
import { ui } from "./state/ui.svelte";

ui.applyTheme();
const target = document.getElementById("app");
if (target) mount(App, { target });
