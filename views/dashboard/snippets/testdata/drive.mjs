// Answers cases, one a line: secret|id|timestamp|signature|body in base64.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { verifyWebhook } = await import(pathToFileURL(process.argv[2] + "/verify.mjs"));
for await (const line of createInterface({ input: process.stdin })) {
  const [secret, id, timestamp, signature, body] = line.split("|");
  const headers = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature };
  console.log(verifyWebhook(secret, headers, Buffer.from(body, "base64")));
}
