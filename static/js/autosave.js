// When something is saved: what happens to the page, told to sending.js. See there for what
// is being sent, ondevice.js for what the device keeps, showing.js for what the page shows.
import * as device from "./ondevice.js";
import * as sending from "./sending.js";
import { here } from "./showing.js";

document.addEventListener("input", ({ target: { form } }) => form?.matches("[data-autosave]") && sending.changed(form));
// Only a device that stops can lose the keys of a field that wasn't left.
const durabilities = { input: "relaxed", change: "strict" };
for (const type in durabilities) window.addEventListener(type, ({ target: { form } }) => sending.changedAndTaken(form, durabilities[type]));
document.addEventListener("submit", () => device.unsent(here()).length && sending.resend());
document.addEventListener("click", ({ target }) => target.closest?.(".save-status button") && sending.save());
document.addEventListener("visibilitychange", () => sending.save(document.visibilityState === "hidden"));
window.addEventListener("pagehide", () => sending.save(true));
document.addEventListener("htmx:before:history:restore", () => sending.save(true)); // Back within the document
window.addEventListener("online", () => sending.save());
document.addEventListener("htmx:before:request", ({ detail: { ctx } }) => sending.buttonSends(ctx));
document.addEventListener("htmx:before:swap", ({ detail: { ctx, tasks } }) => sending.buttonAnswered(ctx, tasks[0]));
document.addEventListener("htmx:finally:request", ({ detail: { ctx } }) => sending.buttonDone(ctx));
sending.recall();
