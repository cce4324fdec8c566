import { createHmac, timingSafeEqual } from "node:crypto";

const tolerance = 5 * 60; // seconds

// Says whether Candor sent this request. headers are its headers by their names
// in lower case, as in Node's req.headers; body is a Buffer of the bytes that
// arrived, before anything parses them.
export function verifyWebhook(secret, headers, body) {
  const id = headers["webhook-id"] ?? "";
  const timestamp = headers["webhook-timestamp"] ?? "";
  const age = Math.abs(Date.now() / 1000 - Number(timestamp));
  if (!/^[0-9]{1,12}$/.test(timestamp) || age > tolerance) return false;

  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const mac = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64");
  const expected = Buffer.from("v1," + mac);

  // There is one signature of each secret while you change it; one that fits
  // is enough.
  return (headers["webhook-signature"] ?? "").split(" ").some((text) => {
    const given = Buffer.from(text);
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}
