#!/usr/bin/env node
// Receives Candor's test events on a computer that webhooks can't reach, and
// forwards each to your receiver with the bytes, headers and signatures of a
// webhook. It needs Node.js 18 or newer and nothing else.
//
//   export CANDOR_API_KEY=candor_test_…
//   node listen.mjs --forward http://localhost:3000/hook
//
// --forward URL   where to send each event; without it, events are printed
// --key KEY       a test key with sessions:read and data:read. Better: CANDOR_API_KEY,
//                 because your shell's history keeps the command
// --after N       begin after event number N, 0 for all that are kept. Without
//                 it, begin where the last run stopped, or with the next event
// --state FILE    where the last number is kept, .candor-listen.json if not given
// --url URL       Candor's address, or CANDOR_URL
// --body          print each event's body, too
//
// Your receiver verifies signatures with the webhook secret of test mode, as it
// does those of webhooks. If it can't be reached, listen.mjs tries again until it
// can. Any answer is final, as shown; to send events again use --after. An event
// whose answer a crash cut off comes again, with the same X-Webhook-ID.

import { createHash } from "node:crypto";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";

const waitSeconds = 25;
const answerSeconds = 15; // as long as a webhook waits
const longestPause = 30;
const freshSeconds = 60; // how long the headers of a page are used: receivers refuse old timestamps
const unreachable = ["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT", "ENOTFOUND", "EAI_AGAIN"];

const stopping = new AbortController();
let last = null; // the number of the last event that was handled

class Failure extends Error {} // what a person must mend

function settings() {
  let given;
  try {
    given = parseArgs({
      options: {
        key: { type: "string" }, forward: { type: "string" }, after: { type: "string" }, url: { type: "string" },
        state: { type: "string", default: ".candor-listen.json" }, body: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    throw new Failure(`${error.message}. The options are at the top of listen.mjs.`);
  }
  const key = given.key ?? process.env.CANDOR_API_KEY ?? "";
  if (key === "") throw new Failure("A test key is missing. Set CANDOR_API_KEY=candor_test_…, from API keys in the dashboard.");
  if (key.startsWith("candor_live_")) throw new Failure("This is a live key. listen.mjs is for test mode: use a key that starts with candor_test_.");
  if (given.after !== undefined && !/^\d{1,15}$/.test(given.after)) throw new Failure("--after must be the number of an event, such as 42, or 0.");
  return {
    ...given, key,
    url: address("--url", given.url ?? process.env.CANDOR_URL ?? "{base_url}").replace(/\/$/, "").replace(/\/v1$/, ""), // examples' CANDOR_URL has it
    forward: given.forward && address("--forward", given.forward),
  };
}

function address(option, text) {
  let protocol;
  try {
    protocol = new URL(text).protocol;
  } catch {}
  if (protocol !== "http:" && protocol !== "https:") throw new Failure(`${option} must be an address such as http://localhost:3000/hook, not ${text}.`);
  return text;
}

// The state file has the last number of each key and address, by a hash, so that
// the file holds no key.
class State {
  constructor(s) {
    this.file = s.state;
    this.name = createHash("sha256").update(`${s.url} ${s.key}`).digest("hex").slice(0, 12);
  }

  read() {
    try {
      return JSON.parse(readFileSync(this.file, "utf8"));
    } catch (error) {
      if (error.code === "ENOENT") return {};
      throw new Failure(`${this.file} can't be read: ${error.message}. Delete it, or use --state.`);
    }
  }

  get() {
    return this.read()[this.name];
  }

  set(after) {
    writeFileSync(`${this.file}.new`, JSON.stringify({ ...this.read(), [this.name]: after }) + "\n");
    renameSync(`${this.file}.new`, this.file); // so that a crash leaves the old or the new one
  }
}

// ask gets a page of the feed. It tries again for as long as that may help.
async function ask(s, query) {
  for (let pause = 1; ; pause = Math.min(2 * pause, longestPause)) {
    let problem, wait = pause;
    try {
      const answer = await fetch(`${s.url}/v1/events?${query}`, {
        headers: { Authorization: `Bearer ${s.key}` },
        signal: AbortSignal.any ? AbortSignal.any([stopping.signal, AbortSignal.timeout(1000 * (waitSeconds + 15))]) : stopping.signal,
      });
      const text = await answer.text();
      if (answer.ok) return JSON.parse(text);
      problem = `Candor answered ${answer.status}: ${message(text) || "nothing."}`;
      if (answer.status < 500 && answer.status !== 429) throw new Failure(problem);
      wait = Number(answer.headers.get("Retry-After")) || pause;
    } catch (error) {
      if (error instanceof Failure || stopping.signal.aborted) throw error;
      problem = `Can't reach ${s.url}: ${error.cause?.message ?? error.message}.`;
    }
    console.error(`${problem} Trying again in ${wait} s.`);
    await sleep(1000 * wait, undefined, { signal: stopping.signal });
  }
}

function message(text) {
  try {
    return JSON.parse(text).error.message;
  } catch {
    return text.slice(0, 200);
  }
}

// post sends a webhook and returns the status. It takes the exact bytes and headers,
// which fetch would add to.
function post(to, { headers, body }) {
  const bytes = Buffer.from(body, "utf8");
  return new Promise((resolve, reject) => {
    const request = (to.startsWith("https:") ? https : http).request(to, {
      method: "POST", headers: { ...headers, "Content-Length": bytes.length }, signal: AbortSignal.timeout(1000 * answerSeconds),
    }, (answer) => {
      answer.resume();
      answer.on("end", () => resolve(answer.statusCode));
      answer.on("error", () => resolve(answer.statusCode)); // the status has come
    });
    request.on("error", reject);
    request.end(bytes);
  });
}

// forward sends an event and returns what came back, or, after the pause, null if the
// receiver can't be reached.
async function forward(s, webhook, pause) {
  const start = performance.now();
  try {
    const status = await post(s.forward, webhook);
    return `${status} in ${Math.round(performance.now() - start)} ms`;
  } catch (error) {
    if (error.name === "AbortError" || error.name === "TimeoutError") return `no answer in ${answerSeconds} s`;
    if (!unreachable.includes(error.code)) return `connection broken (${error.code ?? error.message})`;
    console.error(`Can't reach ${s.forward} (${error.code}): is your receiver running? Trying again in ${pause} s.`);
    await sleep(1000 * pause, undefined, { signal: stopping.signal });
    return null;
  }
}

async function listen(s) {
  const state = new State(s);
  last = s.after === undefined ? state.get() : Number(s.after);
  if (last === undefined) {
    // No session has this id, so nothing matches, and next_after is the last number.
    last = (await ask(s, `session_id=sess_${"0".repeat(26)}`)).next_after;
  }
  state.set(last);
  console.log(`Listening to ${s.url} after event ${last}${s.forward ? `, forwarding to ${s.forward}` : ""}. Stop with Ctrl-C.`);
  let pause = 1;
  pages: while (!stopping.signal.aborted) {
    const page = await ask(s, `after=${last}&limit=20&wait=${waitSeconds}&include=webhook`);
    const fresh = Date.now() + 1000 * freshSeconds; // performance.now() stops while a laptop sleeps
    for (const event of page.data) {
      if (stopping.signal.aborted) return;
      if (Date.now() > fresh) continue pages;
      const line = `${new Date().toTimeString().slice(0, 8)}  ${event.sequence}  ${event.event}  ${event.session_id ?? ""}`.trimEnd();
      let came = "";
      if (s.forward) {
        const answer = await forward(s, event.webhook, pause);
        pause = answer === null ? Math.min(2 * pause, longestPause) : 1;
        if (answer === null) continue pages; // the event comes again, with new headers
        came = `  -> ${answer}`;
      }
      last = event.sequence;
      state.set(last); // first of all: what was answered must not come again
      console.log(line + came);
      if (s.body) console.log(event.webhook.body);
    }
    if (page.next_after > last) {
      last = page.next_after;
      state.set(last);
    }
  }
}

for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => stopping.abort()); // the answer under way is waited for
try {
  await listen(settings());
} catch (error) {
  if (error instanceof Failure) {
    console.error(error.message);
    process.exitCode = 1;
  } else if (!stopping.signal.aborted) throw error;
}
if (stopping.signal.aborted && last !== null && last !== undefined) console.log(`Stopped after event ${last}. The next run continues there.`);
