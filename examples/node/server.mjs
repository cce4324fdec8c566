// A partner's server: it creates sessions, receives webhooks, and keeps answers.
import { createServer } from "node:http";
import { writeFile } from "node:fs/promises";
import { Webhook } from "standardwebhooks";

const { CANDOR_API_KEY, CANDOR_WEBHOOK_SECRET, CANDOR_URL, PORT = "3000" } = process.env;
const { PUBLIC_URL = `http://localhost:${PORT}` } = process.env;

const webhook = new Webhook(CANDOR_WEBHOOK_SECRET); // takes whsec_… as it is
const applications = new Map(); // by our reference; a real server has a database
const seen = new Set(); // ids of webhooks that are done

async function candor(path, options = {}) {
  const response = await fetch(CANDOR_URL + path, {
    ...options,
    headers: { authorization: `Bearer ${CANDOR_API_KEY}`, "content-type": "application/json", ...options.headers },
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response;
}

async function apply({ reference, email, simulate }) {
  const response = await candor("/sessions", {
    method: "POST",
    headers: { "idempotency-key": `application-${reference}` }, // a retry creates no second session
    body: JSON.stringify({
      form_type: "financial_statement",
      customer_email: email,
      reference_id: reference,
      webhook_url: `${PUBLIC_URL}/webhooks`,
      simulate,
    }),
  });
  const session = await response.json();
  if (!applications.has(reference)) applications.set(reference, { session: session.id, status: "sent" });
  return { session_url: session.session_url };
}

async function take(event) {
  if (!event.session_id || event.sequence === 0) return; // about billing, or a test event: its session doesn't exist
  const path = `/sessions/${event.session_id}`;
  const session = await (await candor(path)).json();
  const application = applications.get(session.reference_id) ?? { session: session.id };
  applications.set(session.reference_id, application);
  application.status = session.status;
  if (event.event === "session.completed") {
    const { data } = await (await candor(`${path}/data`)).json();
    application.net_worth = data.summary.net_worth.toFixed(2);
  }
  if (event.event === "session.pdf_ready") {
    const pdf = Buffer.from(await (await candor(`${path}/pdf`)).arrayBuffer());
    await writeFile(`${session.id}.pdf`, pdf);
    application.pdf = `${session.id}.pdf`;
  }
}

async function read(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts).toString("utf8"); // the raw body: a framework's JSON parser would change it
}

async function route(request) {
  const path = request.url;
  if (request.method === "POST" && path === "/webhooks") {
    const body = await read(request);
    let event;
    try {
      event = webhook.verify(body, request.headers);
    } catch {
      return [401, { error: "the signature doesn't fit" }];
    }
    const id = request.headers["webhook-id"];
    if (!seen.has(id)) {
      await take(event); // if it fails, we answer 500, and Candor sends the event again
      seen.add(id);
    }
    return [200, {}];
  }
  if (request.method === "POST" && path === "/applications") return [200, await apply(JSON.parse(await read(request)))];
  const application = applications.get(decodeURIComponent(path.replace("/applications/", "")));
  return application ? [200, application] : [404, { error: "there is no such application" }];
}

createServer(async (request, response) => {
  const [status, body] = await route(request).catch((error) => {
    console.error(error.message);
    return [500, { error: "try again" }];
  });
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}).listen(PORT);
