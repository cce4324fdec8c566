// Partners' programs on the clients that hey-api and orval make of the API's
// description, with zod: zod.ts hey|orval ADDRESS KEY. Each creates a session, prints
// its link, waits for a line on its input, and then reads what the customer sent.
import { once } from "node:events";
import { createInterface } from "node:readline";
import { client } from "./generated/hey/client.gen.js";
import * as hey from "./generated/hey/sdk.gen.js";
import * as heyZod from "./generated/hey/zod.gen.js";
import * as orval from "./generated/orval/api.js";
import * as orvalZod from "./generated/orval/zod.js";

const [generator = "", baseUrl = "", key = ""] = process.argv.slice(2);
const order = { form_type: "financial_statement", customer_email: "jo@customer.example", metadata: { branch: "Perth", loan: 7, urgent: true } } as const;

/** The data, if they are what zod makes of the description. */
function read<T>(schema: { parse(data: unknown): T }, answer: { data?: unknown; status?: number; error?: unknown }): T {
  if (answer.error !== undefined || (answer.status ?? 200) > 201) throw new Error(JSON.stringify(answer));
  return schema.parse(answer.data);
}

function want(what: string, got: unknown, wanted: unknown) {
  if (got !== wanted) throw new Error(`${what} is ${JSON.stringify(got)}, want ${JSON.stringify(wanted)}`);
}

async function withHey() {
  client.setConfig({ baseUrl, auth: key });
  const created = read(heyZod.zNewSession, await hey.createSession({ body: order, headers: { "Idempotency-Key": "hey-1" } }));
  await customer(created.session_url);
  const path = { id: created.id };
  const session = read(heyZod.zSession, await hey.getSession({ path }));
  const { data } = read(heyZod.zGetSessionDataResponse, await hey.getSessionData({ path }));
  const feed = read(heyZod.zListEventsResponse, await hey.listEvents({ query: { session_id: created.id, limit: 100 } }));
  let total: number | undefined;
  for (const event of feed.data) {
    if (event.event === "session.completed" && "summary" in event.data) total = event.data.summary.total_assets;
  }
  return { status: session.status, balance: data.assets.bank_accounts[0]?.balance, sequence: feed.next_after, total, wanted: data.assets.total_assets };
}

async function withOrval() {
  const { fetch } = globalThis; // orval's addresses are relative
  globalThis.fetch = (path, init) => fetch(`${baseUrl}${path}`, { ...init, headers: { ...init?.headers, Authorization: `Bearer ${key}` } });
  const created = await orval.createSession(order, { headers: { "Idempotency-Key": "orval-1" } });
  if (created.status !== 201) throw new Error(created.data.error.code);
  await customer(created.data.session_url);
  const { id } = created.data;
  const session = read(orvalZod.getSessionResponse, await orval.getSession(id));
  const { data } = read(orvalZod.getSessionDataResponse, await orval.getSessionData(id));
  const feed = read(orvalZod.listEventsResponse, await orval.listEvents({ session_id: id, limit: 100 }));
  let total: number | undefined;
  for (const event of feed.data) {
    if (event.event === "session.completed" && "summary" in event.data) total = event.data.summary.total_assets;
  }
  return { status: session.status, balance: data.assets.bank_accounts[0]?.balance, sequence: feed.next_after, total, wanted: data.assets.total_assets };
}

async function customer(link: string | null) {
  console.log(link);
  await once(createInterface(process.stdin), "line");
}

const got = await (generator === "hey" ? withHey() : withOrval());
want("status", got.status, "completed");
want("balance", got.balance, 1234567.89);
want("total in the event", got.total, got.wanted);
want("type of a sequence", typeof got.sequence, "number");
process.exit(0);
