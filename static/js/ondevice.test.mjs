import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { device, kept, settled } from "./testing.mjs";
const ondevice = await import("./ondevice.js");

const path = "/f/session/income";
beforeEach(async () => {
  kept.clear();
  await ondevice.recall(path, true);
});

test("what is typed is kept until it is forgotten", async () => {
  await ondevice.keep(path, "a=1");
  await ondevice.keep(path, "a=12");
  await settled();
  assert.deepEqual(kept.get(path), ["a=12"]);
  await ondevice.forget(path);
  assert.equal(kept.size, 0);
});

test("what earlier loads left stays, before what is typed now", async () => {
  kept.set(path, ["a=1"]);
  const known = ondevice.recall(path, true);
  ondevice.keep(path, "b=2"); // before the device has said what it keeps
  await known;
  await settled();
  assert.deepEqual(kept.get(path), ["a=1", "b=2"]);
  await ondevice.forget(path);
  assert.deepEqual(kept.get(path), ["a=1"]);
});

test("a request of earlier loads that collides stays, and goes first", async () => {
  kept.set(path, ["a=1", "b=2"]);
  await ondevice.recall(path, true);
  const { unsent, parked } = ondevice.earlier;
  parked.push(unsent.shift());
  ondevice.keep(path, "c=3");
  await settled();
  assert.deepEqual(kept.get(path), ["a=1", "b=2", "c=3"]);
  assert.equal(ondevice.leaves(path), 2);
  assert.deepEqual(ondevice.unsent(path), ["b=2"]);
});

test("what has no place in an answer is owed", async () => {
  await ondevice.owe(path, "a=1");
  await settled();
  assert.deepEqual([kept.get(path), ondevice.unsent(path)], [["a=1"], ["a=1"]]);
});

test("another section's path is left alone", async () => {
  kept.set("/f/session/assets", ["x=1"]);
  await ondevice.owe(path, "a=1");
  ondevice.keep("/f/session/expenses", "b=2");
  await settled();
  assert.deepEqual([...kept.values()], [["x=1"], ["a=1"], ["b=2"]]);
  assert.deepEqual(ondevice.unsent("/f/session/assets"), []);
});

test("a closed session is forgotten, and no other one", async () => {
  for (const at of [path, "/f/session/assets", "/f/another/income"]) kept.set(at, ["a=1"]);
  assert.deepEqual(await ondevice.paths(), [path, "/f/session/assets"]);
  await ondevice.forgetSession();
  assert.deepEqual([...kept.keys()], ["/f/another/income"]);
});

test("a store that was closed is opened again, once, and a device without one keeps nothing", async () => {
  const { opened } = device;
  device.broken = true;
  await ondevice.write(path, ["a=1"]);
  assert.deepEqual([kept.size, device.opened], [0, opened + 1]);
  device.broken = false;
  device.gone = true;
  await ondevice.write(path, ["a=1"]);
  device.gone = false;
  await ondevice.write(path, ["a=2"]);
  assert.deepEqual(kept.get(path), ["a=2"]);
});
