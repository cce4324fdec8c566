// A partner's program on the SDK: flow.ts ADDRESS KEY SECRET. It creates a session,
// prints its link, and completes it after a line on its input. It prints the ids of
// its sessions at the end. With --verify it says which webhooks of its input fit.
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { buffer, json } from "node:stream/consumers";
import { Candor, CandorConnectionError, CandorError, CandorGapError, Webhooks, cents, type CandorFile, type Webhook } from "@candor/node";

function want(what: string, got: unknown, wanted: unknown) {
  if (got !== wanted) throw new Error(`${what} is ${JSON.stringify(got)}, want ${JSON.stringify(wanted)}`);
}

async function refused(what: string, call: Promise<unknown>, code: string): Promise<CandorError> {
  const error = await call.then(() => undefined, (error: unknown) => error);
  if (!(error instanceof CandorError)) throw new Error(`${what}: ${String(error)}`);
  want(what, error.code, code);
  if (!error.requestId || !error.docUrl?.endsWith(`#error-${code}`)) throw new Error(`${what} has no request id`);
  return error;
}

async function sum(file: CandorFile): Promise<string> {
  await writeFile(file.name, file.body);
  const content = await readFile(file.name);
  want(`size of ${file.name}`, content.length, file.size);
  return createHash("sha256").update(content).digest("hex");
}

async function verify() {
  const out: boolean[] = [];
  for (const one of (await json(process.stdin)) as Array<{ secrets: string[]; headers: Record<string, string[]>; body: string }>) {
    try {
      new Webhooks(one.secrets).verify(one.headers, Buffer.from(one.body, "base64"));
      out.push(true);
    } catch {
      out.push(false);
    }
  }
  console.log(JSON.stringify(out));
}

async function flow(url: string, key: string, secret: string) {
  const candor = new Candor({ url, key, backoff: 10 });
  const webhooks = new Webhooks(secret);
  const received: Webhook[] = [];
  const receiver = createServer(async (request, response) => {
    received.push(webhooks.verify(request.headers, await buffer(request)));
    response.end();
  }).listen(0, "127.0.0.1");
  await once(receiver, "listening");

  const session = await candor.createSession({
    form_type: "financial_statement", customer_email: "node@customer.example", metadata: { loan: 7, urgent: true },
    webhook_url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`,
    prefill: { income: { employment_income: { gross_salary: 85000.5 } } },
  });
  console.log(session.session_url);
  await once(createInterface(process.stdin), "line");
  await candor.advanceSession(session.id, {
    to: "completed", data: { assets: { bank_accounts: [{ institution: "Harbour Bank", account_type: "savings", balance: 999999999999.99 }] } },
  });

  let pdfHash: string | undefined, last = 0;
  for await (const event of candor.events()) {
    want("sequence", event.sequence, ++last);
    if (event.event !== "session.pdf_ready" || event.session_id !== session.id) continue;
    pdfHash = event.pdf_sha256;
    break;
  }
  const { data } = await candor.getSessionData(session.id);
  want("balance", cents(data.assets.bank_accounts[0]?.balance ?? 0), 99999999999999);
  want("salary", cents(data.income.employment_income.gross_salary), 8500050);
  want("PDF", await sum(await candor.getSessionPDF(session.id, { download: true })), pdfHash);
  want("documents", data.documents.length, 1);
  for (const one of data.documents) want("document", await sum(await candor.getSessionDocument(session.id, one.id)), one.sha256);
  while (!received.some((one) => one.event === "session.pdf_ready")) await once(receiver, "request");
  const completed = received.find((one) => one.event === "session.completed");
  if (completed?.event !== "session.completed" || !completed.delivery_id) throw new Error("no webhook of the completion came");
  want("net worth of the webhook", completed.data.summary.net_worth, data.summary.net_worth);

  const gap: unknown = await candor.events({ after: 7777 }).next().catch((error: unknown) => error);
  want("a gap in the events", gap instanceof CandorGapError && gap.after === 7777 && gap.oldest === 9000, true);

  const breaking = createServer((_, response) => response.writeHead(200, { "Content-Length": 1000 }).write("cut", () => response.destroy()));
  await once(breaking.listen(0, "127.0.0.1"), "listening");
  const port = (breaking.address() as AddressInfo).port;
  const cut = await new Candor({ url: `http://127.0.0.1:${port}`, key: "candor_test_x" }).getSessionPDF(session.id);
  const broken: unknown = await buffer(cut.body).catch((error: unknown) => error);
  want("a broken download", broken instanceof CandorConnectionError, true);
  breaking.close();

  const made = [session.id];
  const create = async () => made.push((await candor.createSession({ form_type: "financial_statement", customer_email: "node@customer.example" })).id);
  for (let i = 0; i < 3; i++) await create();
  const listed: string[] = [];
  for await (const one of candor.allSessions({ per_page: 2, customer_email: "node@customer.example" })) {
    if (listed.push(one.id) === 1) await create(); // moves what the next page has
  }
  want("the list", listed.join(), made.slice(0, 4).reverse().join());

  await refused("an unknown session", candor.getSession("sess_00000000000000000000000000"), "session_not_found");
  const wrong = await refused("an address", candor.createSession({ form_type: "financial_statement", customer_email: "x" }), "invalid_email");
  want("field", wrong.fields[0]?.field, "customer_email");
  want("cancelled", (await candor.cancelSession(made[1] ?? "")).status, "cancelled");
  await refused("a second cancellation", candor.cancelSession(made[1] ?? ""), "session_cancelled");
  want("an id that is none", await candor.getSession("..").catch((error: unknown) => error instanceof TypeError), true);
  want("usage", (await candor.getUsage({ period: "current_month" })).sessions.total_created >= 5, true);
  const once_ = { idempotencyKey: "application 7" };
  const again = () => candor.createTestEvent({ type: "billing.invoice_paid" }, once_);
  want("a repeated call", (await again()).id, (await again()).id);
  receiver.close();
  receiver.closeAllConnections();
  console.log(JSON.stringify(made));
}

const [first = "", key = "", secret = ""] = process.argv.slice(2);
await (first === "--verify" ? verify() : flow(first, key, secret));
process.exit(0);
