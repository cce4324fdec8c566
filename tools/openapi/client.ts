// A partner's program on the client that openapi-typescript and openapi-fetch make
// of the API's description: client.ts ADDRESS KEY. It creates a session, prints its
// link, waits for a line on its input, and then reads what the customer sent.
import createClient from "openapi-fetch";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { components, paths } from "./generated/api.js";

const [baseUrl = "", key = ""] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` } });

function answered<T>(what: string, r: { data?: T; error?: components["schemas"]["ErrorBody"]; response: Response }): T {
  if (r.data === undefined) throw new Error(`${what}: ${r.response.status} ${r.error?.error.code}`);
  return r.data;
}

function want(what: string, got: unknown, wanted: unknown) {
  if (got !== wanted) throw new Error(`${what} is ${JSON.stringify(got)}, want ${JSON.stringify(wanted)}`);
}

const created = answered("create", await client.POST("/sessions", {
  params: { header: { "Idempotency-Key": "ts-1" } },
  body: {
    form_type: "financial_statement", customer_email: "jo@customer.example", metadata: { branch: "Perth", loan: 7, urgent: true },
    prefill: { income: { employment_income: { gross_salary: 85000.5 } } },
  },
}));
console.log(created.session_url);
await once(createInterface(process.stdin), "line");

const path = { id: created.id };
const session = answered("get", await client.GET("/sessions/{id}", { params: { path } }));
want("status", session.status, "completed");
want("metadata", JSON.stringify(session.metadata), '{"branch":"Perth","loan":7,"urgent":true}');
const list = answered("list", await client.GET("/sessions", { params: { query: { status: "completed", per_page: 1 } } }));
want("the list's first", list.data[0]?.id, created.id);
const { data } = answered("data", await client.GET("/sessions/{id}/data", { params: { path } }));
want("balance", data.assets.bank_accounts[0]?.balance, 1234567.89);
for (const document of data.documents) {
  const file = await client.GET("/sessions/{id}/documents/{document_id}", { params: { path: { ...path, document_id: document.id } }, parseAs: "arrayBuffer" });
  want("document's size", file.data?.byteLength, document.size_bytes);
}
const feed = answered("events", await client.GET("/events", { params: { query: { session_id: created.id, limit: 100 } } }));
want("completions", feed.data.filter((event) => event.event === "session.completed").length, 1);
answered("usage", await client.GET("/billing/usage", { params: { query: { period: "last_30_days" } } }));
answered("subscription", await client.GET("/billing/subscription"));

const again = await client.DELETE("/sessions/{id}", { params: { path } });
want("error of a cancellation", again.error?.error.code, "session_completed");
const pdf = await client.GET("/sessions/{id}/pdf", { params: { path }, parseAs: "text" });
if (pdf.response.status === 200) want("PDF", pdf.data?.slice(0, 5), "%PDF-");
else want("status of the PDF", pdf.response.status, 202);
process.exit(0);
