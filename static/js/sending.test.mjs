import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { kept, open, posts, settled } from "./testing.mjs";
const sending = await import("./sending.js");

const path = "/f/session/income";
mock.timers.enable({ apis: ["setTimeout"] });

// section opens the page, whose device kept some requests.
async function section(answers, ...requests) {
  kept.clear();
  if (requests.length) kept.set(path, requests);
  const form = open(answers);
  await sending.recall();
  await settled();
  return form;
}

const type = (form, answers) => {
  for (const [name, value] of Object.entries(answers)) form.elements[name].value = value;
  sending.changed(form);
  sending.changedAndTaken(form, "relaxed");
};

// after lets time pass, and returns the requests that were sent since.
async function after(ms) {
  mock.timers.tick(ms);
  await settled();
  return posts.splice(0);
}

const answer = async (post, stored) => {
  post.answer(stored);
  return after(0);
};
const lose = async (post) => {
  post.lose();
  return after(0);
};
const states = (form) => form.querySelectorAll("[data-sent]").map(({ value, dataset }) => `${value} ${dataset.sent}`);

test("what is typed is on the device at once, and sent after 800 ms", async () => {
  const form = await section({ pay: "" });
  type(form, { pay: "1" });
  assert.deepEqual(await after(799), []);
  assert.match(kept.get(path)[0], /^pay=1&was=pay%3D&/);
  const [post] = await after(1);
  assert.deepEqual([post.answers, post.was], [{ pay: "1" }, ["pay=", "pay=1"]]);
  await answer(post);
  assert.deepEqual([states(form), form.querySelector("[name=was]").value, kept.size, document.said()], [[], "pay=1", 0, "saved"]);
});

test("one save is under way, and what is typed since is sent after it", async () => {
  const form = await section({ pay: "" });
  type(form, { pay: "1" });
  const [first] = await after(800);
  type(form, { pay: "12" });
  assert.deepEqual(await after(10_000), []);
  assert.equal(kept.size, 1);
  await answer(first);
  assert.deepEqual([form.answers.pay, kept.size], ["12", 1]);
  const [second] = await after(800);
  assert.deepEqual([second.answers.pay, second.was], ["12", ["pay=1", "pay=12"]]);
  await answer(second);
  assert.equal(kept.size, 0);
});

test("a state whose response is lost is sent again as it was, before what is newer", async () => {
  const form = await section({ pay: "" });
  type(form, { pay: "1" });
  await lose((await after(800))[0]);
  assert.deepEqual([states(form), document.said()], [["pay=1 lost"], "offline"]);
  type(form, { pay: "12" });
  const [again] = await after(1000);
  assert.deepEqual([again.answers.pay, again.was], ["1", ["pay=", "pay=1"]]);
  await answer(again);
  const [newer] = await after(800);
  assert.deepEqual([newer.answers.pay, newer.was], ["12", ["pay=1", "pay=12"]]);
  await answer(newer);
});

test("after failures the next try waits twice as long each time, a minute at most", async () => {
  const form = await section({ pay: "" });
  type(form, { pay: "1" });
  let [post] = await after(800);
  for (const wait of [1, 2, 4, 8, 16, 32, 60, 60]) {
    await lose(post);
    assert.deepEqual(await after(wait * 1000 - 1), []);
    [post] = await after(1);
    assert.ok(post, `after ${wait} s`);
  }
  await answer(post);
});

test("a page that is left sends what is newer at once, while it can say what that replaces", async () => {
  const form = await section({ pay: "" });
  for (const pay of ["1", "12", "123", "1234"]) {
    type(form, { pay });
    sending.save(true);
  }
  const left = await after(0);
  assert.deepEqual(left.map(({ answers }) => answers.pay), ["1", "12", "123"]);
  assert.deepEqual(left[2].was, ["pay=", "pay=1", "pay=12", "pay=123"]);
  assert.match(kept.get(path)[0], /^pay=1234&/);
  await answer(left[1]); // which names the state before it
  assert.deepEqual([states(form), form.querySelector("[name=was]").value], [["pay=123 now"], "pay=12"]);
  await answer(left[2]);
  assert.deepEqual([states(form), form.querySelector("[name=was]").value], [[], "pay=123"]);
  await answer(left[0]); // late
  assert.deepEqual([form.answers.pay, form.querySelector("[name=was]").value], ["1234", "pay=123"]);
  await answer((await after(800))[0]);
  assert.equal(kept.size, 0);
});

test("a page that isn't the session's is a failure, and nothing is forgotten", async () => {
  const form = await section({ pay: "" });
  type(form, { pay: "1" });
  await answer((await after(800))[0], "Welcome to our Wi-Fi");
  assert.deepEqual([states(form), kept.size, document.said()], [["pay=1 lost"], 1, "failed"]);
  await answer((await after(60_000))[0]);
  assert.deepEqual([states(form), kept.size, document.said()], [[], 0, "saved"]);
});

test("what earlier loads left is sent first, in its order, and forgotten when it is stored", async () => {
  const form = await section({ pay: "", rent: "" }, "pay=1", "rent=2");
  type(form, { pay: "9" });
  await lose((await after(0))[0]);
  const [first] = await after(1000);
  assert.deepEqual(first.answers, { pay: "1" });
  assert.deepEqual(kept.get(path).map((request) => request.slice(0, 6)), ["pay=1", "rent=2", "pay=9&"]);
  const [second] = await answer(first, { pay: "1", rent: "" });
  assert.deepEqual(second.answers, { rent: "2" });
  await answer(second, { pay: "1", rent: "2" });
  const [own] = await after(800);
  assert.deepEqual(own.answers, { pay: "9", rent: "" });
  await answer(own, { pay: "9", rent: "2" });
  assert.deepEqual([form.answers, kept.size], [{ pay: "9", rent: "2" }, 0]);
});

test("a save waits for a button's request, and sends again what the button could not", async () => {
  const form = await section({ pay: "" });
  form.matches = () => true;
  const ctx = { request: { form }, status: "sent" };
  type(form, { pay: "1" });
  sending.buttonSends(ctx);
  type(form, { pay: "12" });
  assert.deepEqual(await after(10_000), []);
  sending.buttonDone({ ...ctx, status: "error: no connection" });
  const [again] = await after(1000);
  assert.deepEqual(again.answers, { pay: "1" });
  await answer(again);
  const [newer] = await after(800);
  assert.deepEqual([newer.answers.pay, newer.was], ["12", ["pay=1", "pay=12"]]);
  await answer(newer);
  assert.equal(kept.size, 0);
});
