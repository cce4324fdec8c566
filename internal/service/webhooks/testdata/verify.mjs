// Verifies webhooks as a receiver in Node.js does: X-Webhook-Signature by the
// contract alone, webhook-signature by the published library. Reads a list of
// {headers, body, secrets} from stdin, prints for each {contract, standard}:
// which of the secrets verify it.
import { createHmac, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { Webhook } from "standardwebhooks";

const contract = (call) => (secret) => {
  const expected = createHmac("sha256", secret).update(call.body, "utf8").digest("hex");
  const sent = call.headers["x-webhook-signature"] ?? "";
  return sent.length === expected.length && timingSafeEqual(Buffer.from(sent), Buffer.from(expected));
};

const standard = (call) => (secret) => {
  try {
    return new Webhook(secret).verify(call.body, call.headers).event !== undefined;
  } catch (error) {
    if (error.name === "WebhookVerificationError") return false;
    throw error;
  }
};

const calls = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(calls.map((call) => ({
  contract: call.secrets.map(contract(call)),
  standard: call.secrets.map(standard(call)),
}))));
