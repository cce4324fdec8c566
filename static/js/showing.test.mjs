import assert from "node:assert/strict";
import { test } from "node:test";
import { Form, open } from "./testing.mjs";
const { update } = await import("./showing.js");

const inputs = (answers) => new URLSearchParams(answers);

// Each case is a form that was opened with was, sent with sent, and shows now when the
// server's answer comes.
for (const [story, { was, sent, now, stored, shows, base }] of Object.entries({
  "what was stored as it was sent": { was: { a: "" }, sent: { a: "1" }, now: { a: "1" }, stored: { a: "1" }, shows: { a: "1" }, base: "a=1" },
  "what the server tidied is shown": { was: { a: "" }, sent: { a: "1500" }, now: { a: "1500" }, stored: { a: "1,500" }, shows: { a: "1,500" }, base: "a=1,500" },
  "what changed elsewhere is shown": { was: { a: "", b: "" }, sent: { a: "1", b: "" }, now: { a: "1", b: "" }, stored: { a: "1", b: "2" }, shows: { a: "1", b: "2" }, base: "a=1&b=2" },
  "what was typed since stays, and replaces what was sent": { was: { a: "" }, sent: { a: "1" }, now: { a: "12" }, stored: { a: "1" }, shows: { a: "12" }, base: "a=1" },
  "of a field that changed here and elsewhere nothing is shown": { was: { a: "" }, sent: { a: "" }, now: { a: "1" }, stored: { a: "2" }, shows: { a: "1" }, base: "a=" },
  "a date whose day was typed since keeps its month": {
    was: { "d.day": "1", "d.month": "2" }, sent: { "d.day": "1", "d.month": "2" }, now: { "d.day": "9", "d.month": "2" },
    stored: { "d.day": "1", "d.month": "7" }, shows: { "d.day": "9", "d.month": "2" }, base: "d.day=1&d.month=2",
  },
}))
  test(story, () => {
    const form = open(now);
    assert.equal(decodeURIComponent(update(form, new Form(stored), inputs(sent), inputs(was)).toString()), base);
    assert.deepEqual(form.answers, shows);
  });

test("a field that has the focus is not changed", () => {
  const form = open({ a: "1" });
  document.activeElement = form.elements.a;
  update(form, new Form({ a: "2" }), inputs({ a: "1" }), inputs({ a: "1" }));
  assert.equal(form.answers.a, "1");
});
